"""The one tokenizer: index, query and sentence scoring all see a text as these terms."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain, filterfalse
from operator import add

import regex
import Stemmer  # type: ignore[import-not-found]  # PyStemmer ships neither stubs nor a marker

from citewire.text.dates import date_terms
from citewire.text.normalise import compatible
from citewire.text.stopwords import ACRONYMS, STOP_WORDS

LONGEST_WORD = 64
"""Characters; a longer word is cut, so a base64 blob cannot become one huge term."""

_MOST_JOINTS = 15

SINGLE_WEIGHT = 0.3
"""Weight of a lone CJK character in coverage: its pairs already tell the word, it is there for recall."""

# Scripts written without blanks: one character is too little to know a word by, a whole run too much.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"


def _word_of(letters: str) -> str:
    """The pattern of a word: letters, and joints only between them. Nothing behind the letters must match.

    So it never backtracks. Possessive groups would say so, but those of `re` are broken in the first releases of 3.11.
    """
    run = rf"{letters}{{1,{LONGEST_WORD}}}+"
    return rf"({run}(?:[-._@+'’‐]{run}|(?<=\d),\d{{3}}(?!\d)){{0,{_MOST_JOINTS}}}(?:(?<=[A-Za-z])(?:\+\+|#))?)"


_ASCII_WORD = re.compile(_word_of("[a-zA-Z0-9_]"))
_RUN_OR_WORD = regex.compile(rf"([{_UNSPACED}][{_UNSPACED}\p{{M}}]*+)|" + _word_of(rf"[\w--[{_UNSPACED}]]"), regex.V1)
# In a text that has nothing beside ASCII, plain Han and punctuation, the same is found by these, several times as fast.
_PLAIN = re.compile(r"[\x00-\x7f°·×\u2010-\u2027\u2030-\u203e\u3000-\u3003\u3008-\u3011\u3014-\u301f\u4e00-\u9fff]*+")
_PLAIN_RUN_OR_WORD = re.compile(r"([\u4e00-\u9fff]++)|" + _word_of("[a-zA-Z0-9_]"))

_JOINTS = regex.compile(r"[-._@+'#]+")
_IDENTIFIER = regex.compile(r".*[\d_@.+#]")
_DECIMAL = regex.compile(r"\d+\.\d+")
# "COVID19" also as "COVID 19", "10kg" as "10 kg"; a single letter ("v2", "5G") stays with its number.
_BORDER = regex.compile(r"(?<=\p{L}{2})(?=\d)|(?<=\d)(?=\p{L}{2})")
_CYRILLIC = regex.compile(r"\p{Cyrillic}")
_UNSPACED_CHARACTER = regex.compile(rf"[{_UNSPACED}]")
_is_stop_word = STOP_WORDS.__contains__
_STOP_PAIR = re.compile("|".join(word for word in STOP_WORDS if len(word) == 2 and not word.isascii()))  # noqa: PLR2004 - a pair
_TYPEWRITER = str.maketrans({"’": "'", "‐": "-", ",": None})


def tokenize(text: str) -> list[str]:
    """The terms of a text in linear time, repeats included; a question and its source meet in equal terms.

    Words are NFKC, case-folded and stemmed, without stop words. A run of Han, kana, Hangul or another
    script without blanks gives its characters and its overlapping pairs. Identifiers (`ABC-1234`) give
    themselves and their parts. Each date gives one term more, `d20250214` or `d202502`.
    """
    visible = compatible(text)
    terms = date_terms(visible)
    if visible.isascii():
        # Seven times as fast as to look for all scripts.
        terms += chain.from_iterable(map(_word_terms, _ASCII_WORD.findall(visible)))
        return terms
    pattern = _PLAIN_RUN_OR_WORD if _PLAIN.fullmatch(visible) else _RUN_OR_WORD
    for run, word in pattern.findall(visible):
        terms += _run_terms(run) if run else _word_terms(word)
    return terms


def term_weight(term: str) -> float:
    """How much finding this term counts in a coverage score."""
    return SINGLE_WEIGHT if len(term) == 1 and _UNSPACED_CHARACTER.match(term) else 1.0


def query_terms(text: str) -> dict[str, float]:
    """The distinct terms of a question with their weights, in order of appearance."""
    return {term: term_weight(term) for term in tokenize(text)}


def _run_terms(run: str) -> Iterator[str]:
    """The characters of a run and its overlapping pairs, without stop words."""
    characters = list(run)
    pairs = map(add, characters, characters[1:])
    # Few runs have such a pair, and to look at each pair takes longer than all the rest.
    return chain(
        filterfalse(_is_stop_word, characters), filterfalse(_is_stop_word, pairs) if _STOP_PAIR.search(run) else pairs
    )


@lru_cache(maxsize=65_536)
def _word_terms(written: str) -> tuple[str, ...]:
    """The distinct terms of one word as it is written, joints included."""
    word = _caseless(written.translate(_TYPEWRITER)).removesuffix("'s")
    if word in STOP_WORDS:
        return (word,) if written in ACRONYMS else ()
    if _DECIMAL.fullmatch(word):
        return (word,)
    is_identifier = len(word) <= LONGEST_WORD and _IDENTIFIER.match(word) and not date_terms(word)
    whole = [word] if is_identifier else []
    parts = [piece for part in _JOINTS.split(word) for piece in _pieces(part)]
    return tuple(dict.fromkeys(whole + parts))


def _caseless(word: str) -> str:
    """Case folded; the dot that folding leaves of a Turkish capital İ goes, for "istanbul" is typed without."""
    return compatible(word.casefold()).replace("i\u0307", "i")


def _pieces(part: str) -> Iterator[str]:
    """The terms of what stands between two joints."""
    pieces = _BORDER.split(part)
    if len(pieces) > 1:
        yield part
    yield from (_stem(piece) for piece in pieces if piece and piece not in STOP_WORDS)


def _stem(word: str) -> str:
    stemmer = _stemmer("russian" if _CYRILLIC.match(word) else "english")
    return str(stemmer.stemWord(word))


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)  # no cache of its own: whole words are cached here
