"""What an answer claims to quote, and the proved quotes made of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from citewire.contracts.evidence import PageSpan, Quote, QuoteOrigin, QuotePiece, Source, Verdict
from citewire.text.normalise import clean
from generator.citations.shapes import Marker
from generator.citations.statements import Wording
from generator.citations.support import Passages
from generator.citations.verify import LONGEST_QUOTE, Proof, Prover

MOST_FOUND = 300
"""Passages that are looked for in one answer; a text that cites more without a quote is not written for readers."""


@dataclass(frozen=True)
class Claim:
    """Words that the answer says stand in source `number`, where a generator knows: at `start` of the document.

    `page` is a physical page that a model claims; it only chooses among several places of the same words.
    """

    number: int
    quote: str
    start: int | None = None
    page: int | None = None


class QuoteMaker:
    """Makes the quotes of one answer from its sources, which are read when they are first needed."""

    def __init__(self, sources: Mapping[int, Source]) -> None:
        self._sources = sources
        self._passages: dict[int, Passages] = {}
        self._searches = 0

    @cached_property
    def _prover(self) -> Prover:
        return Prover({number: source.text for number, source in self._sources.items()})

    def given(self, claim: Claim, marker: Marker | None) -> Quote:
        """The quote that a claim gives at a marker, with its verdict; the claim's source is one of ours."""
        source = self._sources[claim.number]
        if claim.start is not None and _stands_at(claim.quote, claim.start - source.start, source.text):
            start = claim.start - source.start
            return _quote(source, marker, claim.quote, Proof(Verdict.EXACT, start, start + len(claim.quote)))
        proof = self._prover.prove(claim.quote, claim.number, _on_page(source, claim.page))
        pieces = tuple(
            QuotePiece(number=piece.number, start=start + piece.start, end=start + piece.end)
            for piece in proof.pieces
            for start in [self._sources[piece.number].start]
        )
        quote = _quote(source, marker, clean(claim.quote[:LONGEST_QUOTE]), proof)
        return quote.model_copy(update={"pieces": pieces}) if pieces else quote

    def found(self, source: Source, statement: Wording, marker: Marker) -> list[Quote]:
        """The passage of a source that supports a statement without a quote; none if there is no such passage."""
        self._searches += 1
        if self._searches > MOST_FOUND:
            return []
        passages = self._passages.setdefault(source.number, Passages(source.text))
        span = passages.support(statement)
        if span is None:
            return []
        quote = _quote(source, marker, source.text[slice(*span)], Proof(Verdict.EXACT, *span))
        return [quote.model_copy(update={"origin": QuoteOrigin.FOUND})]


def page_at(source: Source, offset: int) -> PageSpan | None:
    """The page on which an offset of the document lies; None for documents without pages."""
    return next((page for page in source.pages if page.start <= offset < page.end), None)


def _stands_at(quote: str, start: int, text: str) -> bool:
    return start >= 0 and text.startswith(quote, start)


def _on_page(source: Source, number: int | None) -> tuple[int, int] | None:
    """The characters of a source's text that stand on a page, as far as they are known."""
    pages = [page for page in source.pages if page.number == number]
    return (pages[0].start - source.start, pages[0].end - source.start) if pages else None


def _quote(source: Source, marker: Marker | None, words: str, proof: Proof) -> Quote:
    start, end = proof.start, proof.end
    page = None if start is None else page_at(source, source.start + start)
    return Quote(
        answer_start=marker.start if marker else None,
        answer_end=marker.end if marker else None,
        cited_text=words,
        start=None if start is None else source.start + start,
        end=None if end is None else source.start + end,
        page=page.number if page else None,
        page_label=page.label if page else None,
        verdict=proof.verdict,
    )
