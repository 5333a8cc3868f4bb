"""Does a quote stand in the source it names? Decided by comparing characters, without a model."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from citewire.contracts.evidence import Verdict
from generator.citations.canonical import Canonical
from generator.citations.places import find_place, find_places
from generator.citations.stitches import find_parts

LONGEST_QUOTE = 4_000
"""Characters; what is longer is no quote, and neither is a single character or what has no letter and no digit."""

# Joins the sources; no canonical text holds one.
_BORDER = "\n"
_HAS_WORD = re.compile(r"[^\W_]")
# What a quote may end with, or begin with, and the source not. A sign of a number is not among them.
_TAIL = " '().,;:、。"
_HEAD = " '("
_DOTS = "..."


@dataclass(frozen=True, slots=True)
class Piece:
    """The characters `start` to `end` of the text of source `number`."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Proof:
    """A verdict, and where the quote stands: in the source it names, or else, if somewhere, in pieces."""

    verdict: Verdict
    start: int | None = None
    end: int | None = None
    pieces: tuple[Piece, ...] = ()


NOT_FOUND = Proof(Verdict.NOT_FOUND)


class Prover:
    """Proves quotes against the sources of one answer; each is prepared once, when it is first needed.

    After that, a quote costs a few searches for it in the sources' characters, linear in their length.
    """

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._sources = {number: Canonical(texts[number]) for number in sorted(texts)}

    def prove(self, quote: str, number: int, within: tuple[int, int] | None = None) -> Proof:
        """The verdict on a quote that names source `number`.

        Of several places in that source, one of the very same characters comes first, then one that begins `within`
        these characters, then the first. Of other sources that hold the quote, the one with the lowest number is
        named. A stitched quote's pieces are in its own order, from the source it names where they stand there too.
        """
        wanted = _Wanted(quote.strip())
        if not wanted.is_quote:
            return NOT_FOUND
        return (
            self._prove_here(wanted, number, within)
            or self._prove_elsewhere(wanted)
            or self._prove_stitched(wanted, number)
            or NOT_FOUND
        )

    def _prove_here(self, wanted: "_Wanted", number: int, within: tuple[int, int] | None) -> Proof | None:
        source = self._sources.get(number)
        if source is None:
            return None
        best = max(wanted.find_all(source, within), key=lambda found: found.rank, default=None)
        return Proof(best.verdict, best.start, best.end) if best else None

    def _prove_elsewhere(self, wanted: "_Wanted") -> Proof | None:
        for words in wanted.forms:
            piece = self._find_anywhere(words)
            if piece:
                return Proof(Verdict.MISATTRIBUTED, pieces=(piece,))
        return None

    def _prove_stitched(self, wanted: "_Wanted", number: int) -> Proof | None:
        text, _, _ = self._all
        words = wanted.forms[-1]
        parts = [words[start:end] for start, end in find_parts(words, text)]
        pieces = [self._find_in(part, number) or self._find_anywhere(part) for part in parts]
        return Proof(Verdict.STITCHED, pieces=tuple(filter(None, pieces))) if pieces else None

    def _find_in(self, words: str, number: int) -> Piece | None:
        source = self._sources.get(number)
        place = None if source is None else find_place(words, source.text)
        return None if source is None or place is None else Piece(number, *source.span(place, place + len(words)))

    def _find_anywhere(self, words: str) -> Piece | None:
        text, starts, numbers = self._all
        place = find_place(words, text)
        if place is None:
            return None
        index = bisect_right(starts, place) - 1
        begin = place - starts[index]
        return Piece(numbers[index], *self._sources[numbers[index]].span(begin, begin + len(words)))

    @cached_property
    def _all(self) -> tuple[str, list[int], list[int]]:
        """All sources as one text, where each begins in it, and their numbers: one search instead of thirty."""
        starts, position = list[int](), 0
        for source in self._sources.values():
            starts.append(position)
            position += len(source.text) + len(_BORDER)
        return _BORDER.join(source.text for source in self._sources.values()), starts, list(self._sources)


@dataclass(frozen=True, slots=True)
class _Found:
    """A place of a quote, and how good it is: the same characters first, then those on the page asked for."""

    start: int
    end: int
    rank: tuple[bool, bool]

    @property
    def verdict(self) -> Verdict:
        return Verdict.EXACT if self.rank[0] else Verdict.NORMALISED


class _Wanted:
    """A quote, as it is and in the forms in which it is looked for."""

    def __init__(self, quote: str) -> None:
        self._quote = quote
        self._canonical = Canonical(quote)

    @cached_property
    def is_quote(self) -> bool:
        return (
            1 < len(self._quote) <= LONGEST_QUOTE and len(self.forms[-1]) > 1 and bool(_HAS_WORD.search(self.forms[-1]))
        )

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """The canonical form; and where that is another, the one without what may surround a quote."""
        whole = self._canonical.text.strip()
        bare = whole.rstrip(_TAIL).lstrip(_HEAD)
        while bare.startswith(_DOTS):
            bare = bare.removeprefix(_DOTS).lstrip(_HEAD)
        return (whole,) if bare in {whole, ""} else (whole, bare)

    def find_all(self, source: Canonical, within: tuple[int, int] | None) -> Iterator[_Found]:
        """The places in a source: of the whole quote, and if there is none, of the bare one."""
        whole, *bare = self.forms
        places = list(find_places(whole, source.text))
        for place in places:
            yield self._found(source, place, len(whole), within)
        for words in bare if not places else ():
            for place in find_places(words, source.text):
                start, end = source.span(place, place + len(words))
                yield _Found(start, end, (False, _is_within(start, within)))

    def _found(self, source: Canonical, place: int, length: int, within: tuple[int, int] | None) -> _Found:
        text = self._canonical.text
        before = self._canonical.origin(len(text) - len(text.lstrip()))
        start, end = source.span(place, place + length)
        begin = start - before
        is_exact = begin >= 0 and source.original.startswith(self._quote, begin)
        if is_exact:
            start, end = begin, begin + len(self._quote)
        return _Found(start, end, (is_exact, _is_within(start, within)))


def _is_within(start: int, within: tuple[int, int] | None) -> bool:
    return within is not None and within[0] <= start < within[1]
