"""From an answer's text to its citations: which numbers it uses, what stands behind each, and what dangles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from citewire.contracts.evidence import Citation, Quote, Source
from generator.citations.assign import assign_quotes
from generator.citations.markers import find_markers
from generator.citations.quotes import Claim, QuoteMaker
from generator.citations.statements import Wording, find_statements

__all__ = ["Cited", "Claim", "collect_citations"]


@dataclass(frozen=True)
class Cited:
    """Valid numbers with their quotes, ascending and unique; and the numbers that no source has."""

    citations: tuple[Citation, ...]
    dangling: tuple[int, ...]


def collect_citations(text: str, claims: Iterable[Claim], sources: Sequence[Source]) -> Cited:
    """The citations of an answer.

    A claim belongs to the marker of its number whose statement it supports best; if there is no such marker, its quote
    has no place in the answer, and its number counts as cited all the same. Where all claims of a number know their
    place in the source, as an extract's do, the n-th marker has the n-th claim, and no more. A marker without a claim
    gets the passage of its source that supports its statement, or no quote.
    """
    return _Answer(text, claims, sources).cite()


class _Answer:
    """The markers of an answer, each meant by its index, and its claims, by source number."""

    def __init__(self, text: str, claims: Iterable[Claim], sources: Sequence[Source]) -> None:
        self._text = text
        self._sources = {source.number: source for source in sources}
        self._maker = QuoteMaker(self._sources)
        self._markers = find_markers(text)
        self._uses: dict[int, list[int]] = {}
        for index, marker in enumerate(self._markers):
            for number in marker.numbers:
                self._uses.setdefault(number, []).append(index)
        self._claims: dict[int, list[Claim]] = {}
        for claim in claims:
            self._claims.setdefault(claim.number, []).append(claim)

    def cite(self) -> Cited:
        claimed = {number for number in self._claims if not self._are_placed(number)}
        numbers = sorted(claimed.union(self._uses))
        return Cited(
            tuple(self._citation(self._sources[number]) for number in numbers if number in self._sources),
            tuple(number for number in numbers if number not in self._sources),
        )

    def _are_placed(self, number: int) -> bool:
        return all(claim.start is not None for claim in self._claims.get(number, ()))

    def _citation(self, source: Source) -> Citation:
        quotes = self._quotes(source)
        first = next(((quote.page, quote.page_label) for quote in quotes if quote.page is not None), None)
        page, label = first or ((source.pages[0].number, source.pages[0].label) if source.pages else (None, None))
        return Citation(
            number=source.number,
            kb_id=source.kb_id,
            doc_id=source.doc_id,
            page=page,
            page_label=label,
            quotes=tuple(quotes),
        )

    def _quotes(self, source: Source) -> list[Quote]:
        """In the order of the answer; those without a place in it last."""
        given, quotes = self._assign(source.number), list[Quote]()
        for index in self._uses.get(source.number, ()):
            marker = self._markers[index]
            quotes += [self._maker.given(claim, marker) for claim in given.get(index, ())]
            if index not in given:
                quotes += self._maker.found(source, self._statements[index], marker)
        return quotes + [self._maker.given(claim, None) for claim in given.get(None, ())]

    def _assign(self, number: int) -> dict[int | None, list[Claim]]:
        """The claims of a number by marker; by None those that no marker refers to."""
        claims, uses = self._claims.get(number, []), self._uses.get(number, [])
        if self._are_placed(number):
            return {index: [claim] for index, claim in zip(uses, claims, strict=False)}
        if not uses:
            return {None: claims}
        given: dict[int | None, list[Claim]] = {}
        chosen = assign_quotes([claim.quote for claim in claims], [self._statements[index] for index in uses])
        for claim, choice in zip(claims, chosen, strict=True):
            given.setdefault(uses[choice], []).append(claim)
        return given

    @cached_property
    def _statements(self) -> list[Wording]:
        return find_statements(self._text, self._markers)
