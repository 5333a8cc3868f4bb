"""From an answer's text to its citations: which numbers it uses, what stands behind each, and what dangles."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citewire.contracts.evidence import Citation, PageSpan, Quote, Source, Verdict
from generator.citations.markers import Marker, find_markers
from generator.citations.verify import check_quote


@dataclass(frozen=True)
class Claim:
    """Words that the answer says stand in source `number`, where a generator knows: at `start` of the document."""

    number: int
    quote: str
    start: int | None = None


@dataclass(frozen=True)
class Cited:
    """Valid numbers with their quotes, ascending and unique; and the numbers that no source has."""

    citations: tuple[Citation, ...]
    dangling: tuple[int, ...]


def collect_citations(text: str, claims: Iterable[Claim], sources: Sequence[Source]) -> Cited:
    """The citations of an answer; the n-th use of a number belongs to the n-th claim for it."""
    by_number = {source.number: source for source in sources}
    waiting: dict[int, deque[Claim]] = {}
    for claim in claims:
        waiting.setdefault(claim.number, deque()).append(claim)
    quotes: dict[int, list[Quote]] = {}
    for marker in find_markers(text):
        for number in marker.numbers:
            uses = quotes.setdefault(number, [])
            if number in by_number and waiting.get(number):
                uses.append(_check(marker, waiting[number].popleft(), by_number))
    return Cited(
        tuple(_citation(by_number[number], quotes[number]) for number in sorted(quotes) if number in by_number),
        tuple(sorted(number for number in quotes if number not in by_number)),
    )


def _check(marker: Marker, claim: Claim, sources: dict[int, Source]) -> Quote:
    source = sources[claim.number]
    start, end, verdict = _locate(claim, source, sources)
    page = None if start is None else page_at(source, start)
    return Quote(
        answer_start=marker.start,
        answer_end=marker.end,
        cited_text=claim.quote,
        start=start,
        end=end,
        page=page.number if page else None,
        page_label=page.label if page else None,
        verdict=verdict,
    )


def _locate(claim: Claim, source: Source, sources: dict[int, Source]) -> tuple[int | None, int | None, Verdict]:
    if claim.start is not None:
        offset = claim.start - source.start
        if offset >= 0 and source.text[offset : offset + len(claim.quote)] == claim.quote:
            return claim.start, claim.start + len(claim.quote), Verdict.EXACT
    check = check_quote(claim.quote, claim.number, {number: other.text for number, other in sources.items()})
    if check.start is None or check.end is None or check.verdict not in {Verdict.EXACT, Verdict.NORMALISED}:
        return None, None, check.verdict
    return source.start + check.start, source.start + check.end, check.verdict


def page_at(source: Source, offset: int) -> PageSpan | None:
    """The page on which an offset of the document lies; None for documents without pages."""
    return next((page for page in source.pages if page.start <= offset < page.end), None)


def _citation(source: Source, quotes: Sequence[Quote]) -> Citation:
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
