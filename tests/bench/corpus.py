"""Text that looks like language to an index: words by Zipf's law, sentences, paragraphs, headings. Deterministic."""

import itertools
from collections.abc import Callable, Sequence
from random import Random

# So frequent in both languages that leaving them out would make the index's work unlike that on real text.
_ENGLISH_FIRST = "the of and to a in is that for it as was with be by on not he his but at are this have from"
_CHINESE_FIRST = "的一是在不了有和人这中大为上个国我以要他时来用们"
_SYLLABLES = [a + b for a in (*"bcdfglmnprstv", "st", "tr", "ch") for b in (*"aeiou", "ar", "en", "er", "on", "ial")]
_VOCABULARY = 40_000
_HAN = range(0x4E00, 0x4E00 + 3500)
# Mandelbrot's shift: flattens the head of the distribution to what is counted in real text.
_SHIFT = 2.7
# Half of the characters of a text are among the 150 most frequent ones.
_HAN_WEIGHTS = list(itertools.accumulate(1 / (rank + 10) for rank in range(len(_HAN))))
_SECTIONS, _PARAGRAPHS, _WORDS = 10, 10, 13
# Chunks that a document has at least.
_LEAST_CHUNKS = 190


class Corpus:
    """Documents and questions by number, the even ones English, the odd ones Chinese."""

    def __init__(self) -> None:
        self._languages = (
            _Language([*_ENGLISH_FIRST.split(), *_words(_english_word)], " ", ". ", 5),
            _Language([*_CHINESE_FIRST, *_words(_chinese_word)], "", "。", 18),
        )

    def documents(self, chunks: int) -> list[tuple[str, bytes]]:
        """Names and contents of Markdown files that have so many chunks, and some more."""
        return [self.document(number) for number in range(chunks // _LEAST_CHUNKS + 1)]

    def document(self, number: int) -> tuple[str, bytes]:
        """The name and the contents of a Markdown file of about 200 chunks."""
        chance = _seeded(f"document {number}")
        language = self._languages[number % 2]
        parts = [f"# {language.phrase(chance, 4)}"]
        for _ in range(_SECTIONS):
            parts.append(f"## {language.phrase(chance, 3)}")
            parts += [language.paragraph(chance) for _ in range(_PARAGRAPHS)]
        return f"{number:06}.md", "\n\n".join(parts).encode()

    def question(self, number: int) -> str:
        """Some words, frequent and rare, as they come in the text."""
        return self._languages[number % 2].phrase(_seeded(f"question {number}"), 7)


class _Language:
    def __init__(self, words: Sequence[str], blank: str, stop: str, sentences: int) -> None:
        self._words = words
        self._blank, self._stop, self._sentences = blank, stop, sentences
        self._weights = list(itertools.accumulate(1 / (rank + _SHIFT) for rank in range(len(words))))

    def phrase(self, chance: Random, length: int) -> str:
        return self._blank.join(self._words_of(chance, length))

    def paragraph(self, chance: Random) -> str:
        lengths = [chance.randint(_WORDS // 2, _WORDS * 2) for _ in range(self._sentences)]
        words = iter(self._words_of(chance, sum(lengths)))
        sentences = (self._blank.join(itertools.islice(words, length)) for length in lengths)
        return self._stop.join(sentences) + self._stop.strip()

    def _words_of(self, chance: Random, count: int) -> list[str]:
        return chance.choices(self._words, cum_weights=self._weights, k=count)


def _words(make: Callable[[Random], str]) -> list[str]:
    """Different words, in the order of their rank."""
    chance = _seeded("vocabulary")
    words = dict.fromkeys(make(chance) for _ in range(2 * _VOCABULARY))
    return list(words)[:_VOCABULARY]


def _english_word(chance: Random) -> str:
    return "".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4)))


def _chinese_word(chance: Random) -> str:
    return "".join(map(chr, chance.choices(_HAN, cum_weights=_HAN_WEIGHTS, k=2)))


def _seeded(name: str) -> Random:
    return Random(name)  # noqa: S311 - the same text in each run
