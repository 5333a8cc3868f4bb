"""What an answer states where a marker stands: the words that its sources are cited for."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby

from citewire.text.sentences import Span, split_sentences
from citewire.text.tokenizer import query_terms
from generator.citations.shapes import Marker

_WORD = re.compile(r"[^\W_]")
_NUMBER = re.compile(
    r"(?P<share>百分之)?(?P<number>(?<![0-9A-Za-z])-?[0-9]+(?:[.,][0-9]+)*|[0-9]+(?:[.,][0-9]+)*)"
    r"(?P<percent> ?(?:%|percent\b|per cent\b))?"
)
_NARROW = str.maketrans("０１２３４５６７８９．％－−", "0123456789.%--")
_THOUSANDS = re.compile(r",(?=[0-9]{3}(?![0-9]))")
_NEGATION = re.compile(
    r"\b(?:not|no|never|nor|neither|none|nothing|without|cannot)\b|n['’]t\b"
    r"|不(?![过過同断斷仅僅但久少])|[没沒無]|无(?!锡)|未(?![来來])|(?<![南北东東是除])非(?![常洲])",
    re.IGNORECASE,
)


class Wording:
    """A text as far as it can be compared with another that says the same in other words."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def terms(self) -> dict[str, float]:
        """Its terms with their weights."""
        return query_terms(self.text)

    @cached_property
    def weight(self) -> float:
        """The weight of all its terms."""
        return sum(self.terms.values())

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers in it, with sign and percent, without what groups their digits."""
        return frozenset(
            _THOUSANDS.sub("", found["number"]) + ("%" if found["share"] or found["percent"] else "")
            for found in _NUMBER.finditer(self.text.translate(_NARROW))
        )

    @cached_property
    def is_negated(self) -> bool:
        """Whether something is denied in it."""
        return _NEGATION.search(self.text) is not None

    def shared(self, other: "Wording") -> float:
        """The weight of the terms that both have."""
        return sum(self.terms[term] for term in self.terms.keys() & other.terms.keys())


def find_statements(text: str, markers: Sequence[Marker]) -> list[Wording]:
    """For each marker, in order, what it is put to: the sentence that it ends or stands in, without markers.

    Where several markers stand in a sentence that ends with one, each has the words since the one before.
    """
    plain = _without(text, markers)
    sentences = split_sentences(plain)
    starts = [start for start, _ in sentences]
    statements = list[Wording]()
    for owner, group in groupby(markers, lambda marker: _owner(plain, marker, sentences, starts)):
        sentence = (0, 0) if owner is None else sentences[owner]
        statements += _state(plain, sentence, list(group))
    return statements


def _without(text: str, markers: Sequence[Marker]) -> str:
    """The text with blanks where its markers are."""
    pieces, position = list[str](), 0
    for marker in markers:
        pieces += [text[position : marker.start], " " * (marker.end - marker.start)]
        position = marker.end
    return "".join([*pieces, text[position:]])


def _owner(plain: str, marker: Marker, sentences: Sequence[Span], starts: Sequence[int]) -> int | None:
    """The sentence that a marker belongs to: its own or the last one, or the next one if it begins a line."""
    last = bisect_right(starts, marker.start) - 1
    if last >= 0 and plain.find("\n", sentences[last][1], marker.start) < 0:
        return last
    if last + 1 < len(sentences) and plain.find("\n", marker.end, starts[last + 1]) < 0:
        return last + 1
    return last if last >= 0 else None


def _state(plain: str, sentence: Span, markers: Sequence[Marker]) -> list[Wording]:
    """What each marker of one sentence is put to."""
    start, end = sentence
    whole = Wording(plain[start:end])
    if _WORD.search(plain, max(start, markers[-1].end), end):
        return [whole] * len(markers)
    statements, position, clause = list[Wording](), start, whole
    for marker in markers:
        if _WORD.search(plain, position, marker.start):
            clause = Wording(plain[position : marker.start])
        statements.append(clause)
        position = marker.end
    return statements
