"""Quotes cut from texts and changed in known ways, each with the verdicts that are right for it; always the same ones.

Whether a quote stands in the sources is decided here by other means than in the code that is measured: by its letters
and digits alone, after NFKC and case folding, of which each sentence that is used occurs once.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from citewire.contracts.evidence import Verdict

Span = tuple[int, int]

_SENTENCE = re.compile(r"(?<![^\s。！？；])[^.!?。！？；\n]{8,}?(?:[.!?](?=\s|\Z)|[。！？；]|(?=\n)|\Z)")
_HAN = re.compile(r"[\u3400-\u9fff]")
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_TYPEWRITER = str.maketrans("“”‘’—–", "\"\"''--")
_TYPESET = str.maketrans({'"': "”", "'": "’", "-": "–"})
_ENGLISH_VERB = re.compile(r" (is|are|was|were|has|have|had|can|could|will|would|should|must|may|do|does|did) ")
_ENGLISH_NOT = re.compile(r" not ")
_CHINESE_VERB = re.compile(r"(?<=[\u4e00-\u9fff])(?<![不没沒未无無])(是|会|會|能|有|可以|需要)(?=[\u4e00-\u9fff])")
_CHINESE_NOT = re.compile(r"(?<=[\u4e00-\u9fff])不(?=[是会會能可需])")
_NUMBER = re.compile(r"(?<![\w.,])[0-9]+(?:[.,][0-9]+)*(?![\w])")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}")


@dataclass(frozen=True)
class Sample:
    """A quote that names source `number`; `place` is where it stands there, or in the source `place_number`."""

    kind: str
    quote: str
    number: int
    right: frozenset[Verdict]
    place: Span | None = None
    place_number: int | None = None


@dataclass(frozen=True)
class _Sentence:
    number: int
    start: int
    end: int
    text: str


def make_samples(texts: Mapping[int, str], outside: Sequence[str], seed: int) -> Iterator[Sample]:
    """One sample of each kind for which the sources have a fit sentence; `outside` are texts of other documents."""
    desk = _Desk(texts, outside, random.Random(seed))  # noqa: S311 - the same quotes in each run
    for make in _KINDS:
        sample = make(desk)
        if sample is not None:
            yield sample


def letters_and_digits(text: str) -> str:
    """What is left of a text when all else is taken away."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())))


class _Desk:
    """The sentences of one set of sources, drawn one after the other."""

    def __init__(self, texts: Mapping[int, str], outside: Sequence[str], chance: random.Random) -> None:
        self.texts = texts
        self.chance = chance
        self.outside = outside
        self._all = "\n".join(letters_and_digits(text) for text in texts.values())
        self._sentences = [
            _Sentence(number, *span, text[slice(*span)])
            for number, text in texts.items()
            for span in find_sentences(text)
        ]
        self.chance.shuffle(self._sentences)

    def draw(self, fits: Callable[[str], object] = bool) -> _Sentence | None:
        """A sentence that occurs once, and that was not drawn before."""
        for index, sentence in enumerate(self._sentences):
            if fits(sentence.text) and self._all.count(letters_and_digits(sentence.text)) == 1:
                return self._sentences.pop(index)
        return None

    def is_nowhere(self, quote: str) -> bool:
        """Whether no source has these letters and digits in this order."""
        return letters_and_digits(quote) not in self._all

    def other_number(self, number: int) -> int:
        """Any source but this one."""
        return self.chance.choice([other for other in self.texts if other != number])


def find_sentences(text: str) -> list[Span]:
    """Sentences of 8 to 300 characters (20 without Han characters), without white space at their ends."""
    spans = []
    for found in _SENTENCE.finditer(text):
        start = found.start() + len(found[0]) - len(found[0].lstrip(" \t#>*-|"))
        sentence = text[start : found.end()].rstrip(" \t\r\n*_`|:：")
        least = 8 if _HAN.search(sentence) else 20
        if least <= len(sentence) <= 300 and sentence[0].isalnum():
            spans.append((start, start + len(sentence)))
    return spans


_EXACT = frozenset({Verdict.EXACT})
_NORMALISED = frozenset({Verdict.NORMALISED})
_NOT_FOUND = frozenset({Verdict.NOT_FOUND})


def _untouched(desk: _Desk) -> Sample | None:
    sentence = desk.draw()
    if sentence is None:
        return None
    return Sample("untouched", sentence.text, sentence.number, _EXACT, (sentence.start, sentence.end))


def _same_words(kind: str, change: Callable[[str, random.Random], str]) -> Callable[[_Desk], Sample | None]:
    """Makes samples that are written in another way, and say the same."""

    def make(desk: _Desk) -> Sample | None:
        chance = random.Random(desk.chance.random())  # noqa: S311 - the same quotes in each run
        sentence = desk.draw(lambda text: change(text, chance) != text)
        if sentence is None:
            return None
        quote = sentence.text
        while quote == sentence.text:
            quote = change(sentence.text, chance)
        return Sample(kind, quote, sentence.number, _NORMALISED, (sentence.start, sentence.end))

    return make


def _other_words(kind: str, change: Callable[[str, random.Random], str]) -> Callable[[_Desk], Sample | None]:
    """Makes samples that say something else; `change` gives "" for a sentence that it cannot change."""

    def make(desk: _Desk) -> Sample | None:
        chance = random.Random(desk.chance.random())  # noqa: S311 - the same quotes in each run
        while sentence := desk.draw(lambda text: change(text, chance)):
            quote = change(sentence.text, chance)
            # A point or a sign alone makes no other letters and digits.
            is_same = letters_and_digits(quote) == letters_and_digits(sentence.text)
            if quote and (is_same or desk.is_nowhere(quote)):
                return Sample(kind, quote, sentence.number, _NOT_FOUND)
        return None

    return make


def _respace(text: str, chance: random.Random) -> str:
    """Other blanks; between Han characters also where there were none."""
    blanks = [" ", "  ", "\n", "\n  ", "\u00a0", "\t", "\u3000", " \u200b", "\r\n"]
    spaced = re.sub(r"\s+", lambda _: chance.choice(blanks), text)
    return re.sub(r"(?<=[\u4e00-\u9fff])(?=[\u4e00-\u9fff])", lambda _: chance.choice(["\n", " ", *[""] * 8]), spaced)


def _recase(text: str, chance: random.Random) -> str:
    return chance.choice([str.upper, str.lower, str.title, str.swapcase])(text)


def _rewiden(text: str, chance: random.Random) -> str:
    """Wide characters narrow, or some of the narrow ones wide."""
    narrow = "".join(unicodedata.normalize("NFKC", char) if "\uff01" <= char <= "\uff5e" else char for char in text)
    wide = "".join(chr(_WIDE[ord(char)]) if ord(char) in _WIDE and chance.random() < 0.5 else char for char in text)
    return chance.choice([narrow, wide])


def _retype(text: str, chance: random.Random) -> str:
    """Other quotation marks and dashes, composed or decomposed letters, invisible characters, hyphens at line ends."""
    words = list(re.finditer(r"[a-z]{6,}", text))
    changed = [text.translate(_TYPEWRITER), text.translate(_TYPESET), unicodedata.normalize("NFD", text)]
    if words:
        middle = chance.choice(words).start() + 3
        changed += [f"{text[:middle]}{mark}{text[middle:]}" for mark in ("-\n", "\u00ad", "\u200b", "- ")]
    else:
        middle = len(text) // 2
        changed.append(f"{text[:middle]}\u200b{text[middle:]}")
    return chance.choice(changed)


def _renumber(text: str, chance: random.Random) -> str:
    """One number changed: a digit, the point, the sign, percent, or its first digit gone."""
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return ""
    found = chance.choice(numbers)
    number, before, after = found[0], text[: found.start()], text[found.end() :]
    index = chance.choice([index for index, char in enumerate(number) if char.isdigit()])
    digit = str((int(number[index]) + chance.randrange(1, 10)) % 10)
    changed = [number[:index] + digit + number[index + 1 :]] * 3 + [f"-{number}", f"{number}%"]
    if len(number) > 1 and number.isdigit():
        changed += [f"{number[0]}.{number[1:]}", number[1:], number[:-1], f"{number}0"]
    if "." in number:
        changed.append(number.replace(".", ""))
    if after.startswith("%"):
        return chance.choice([before + number + after[1:], before + chance.choice(changed[:3]) + after])
    return "" if after.startswith("-") or before.endswith("-") else before + chance.choice(changed) + after


def _negate(text: str, chance: random.Random) -> str:
    """A negation put in, or left out."""
    if _HAN.search(text):
        if _CHINESE_NOT.search(text):
            return _CHINESE_NOT.sub("", text, count=1)
        found = list(_CHINESE_VERB.finditer(text))
        place = chance.choice(found) if found else None
        return f"{text[: place.start()]}{'没' if place[0] == '有' else '不'}{text[place.start() :]}" if place else ""
    if _ENGLISH_NOT.search(text):
        return _ENGLISH_NOT.sub(" ", text, count=1)
    return _ENGLISH_VERB.sub(r" \1 not ", text, count=1) if _ENGLISH_VERB.search(text) else ""


def _rename(text: str, chance: random.Random) -> str:
    """Another name, or two other Han characters."""
    names = ["Marlowe", "Okonkwo", "Lindqvist", "Tashkent", "Borealis"]
    found = list(_NAME.finditer(text))
    if found and not _HAN.search(text):
        name = chance.choice(found)
        return text[: name.start()] + chance.choice(names) + text[name.end() :]
    pairs = list(re.finditer(r"[\u4e00-\u9fff]{2}", text))
    if not pairs:
        return ""
    pair = chance.choice(pairs)
    return text[: pair.start()] + chance.choice(["敖汩", "甪亶", "驩嶷"]) + text[pair.end() :]


def _stitched(desk: _Desk) -> Sample | None:
    first, second = desk.draw(), desk.draw()
    while first and second:
        joint = desk.chance.choice([" ", " ... ", "…", "……", "\n"])
        quote = f"{first.text}{joint}{second.text}"
        if desk.is_nowhere(quote):
            return Sample("stitched", quote, first.number, frozenset({Verdict.STITCHED}))
        first, second = second, desk.draw()
    return None


def _wrong_source(desk: _Desk) -> Sample | None:
    sentence = desk.draw()
    if sentence is None:
        return None
    place, right = (sentence.start, sentence.end), frozenset({Verdict.MISATTRIBUTED})
    return Sample(
        "wrong source", sentence.text, desk.other_number(sentence.number), right, place, place_number=sentence.number
    )


def _invented(desk: _Desk) -> Sample | None:
    sentences = [text[slice(*span)] for text in desk.outside for span in find_sentences(text)]
    desk.chance.shuffle(sentences)
    quote = next((sentence for sentence in sentences if desk.is_nowhere(sentence)), None)
    return None if quote is None else Sample("invented", quote, desk.chance.choice(list(desk.texts)), _NOT_FOUND)


_KINDS: tuple[Callable[[_Desk], Sample | None], ...] = (
    _untouched,
    _same_words("re-spaced", _respace),
    _same_words("re-cased", _recase),
    _same_words("width changed", _rewiden),
    _same_words("typography changed", _retype),
    _other_words("number changed", _renumber),
    _other_words("negated", _negate),
    _other_words("name changed", _rename),
    _stitched,
    _wrong_source,
    _invented,
)
