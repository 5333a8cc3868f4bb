"""What was found and what was cited: segments, sources, citations and how good they are.

All offsets are Unicode code points into the document's stored text, half-open `[start, end)`.
"""

from enum import StrEnum
from uuid import UUID

from pydantic import Field

from citewire.contracts.model import Message


class PageSpan(Message):
    """A physical page (counted from 1) and the part of the document's text that stands on it."""

    number: int = Field(ge=1)
    label: str | None = None
    start: int
    end: int


class Passage(Message):
    """A contiguous slice of one document version: `text` is exactly the document's text from `start` to `end`."""

    kb_id: str
    doc_id: UUID
    version: int
    title: str
    file_name: str
    document_type: str
    section: str = ""
    pages: tuple[PageSpan, ...] = ()
    start: int
    end: int
    text: str
    score: float


class Segment(Passage):
    """A passage as a retriever returns it, with the chunks that it spans (inclusive ordinals)."""

    first_chunk: int
    last_chunk: int


class SourceState(StrEnum):
    """What has become of a source's document since; to readers without access to it, it is withheld."""

    CURRENT = "current"
    CHANGED = "changed"
    REMOVED = "removed"
    WITHHELD = "withheld"


class Source(Passage):
    """A passage as the reader and the model see it: numbered from 1 without gaps, as it was when it was found."""

    number: int = Field(ge=1)
    state: SourceState = SourceState.CURRENT


class ExclusionReason(StrEnum):
    """Why a candidate did not become a source."""

    OVERLAP = "overlap"
    BUDGET = "budget"
    LIMIT = "limit"


class Exclusion(Message):
    """A candidate that was left out whole, and why."""

    kb_id: str
    doc_id: UUID
    start: int
    end: int
    reason: ExclusionReason


class Leg(Message):
    """What one way of searching did in one knowledge base: hits and milliseconds, or why it has none.

    `ready` of `total` chunks could be found by it: the vectors of new documents follow their words.
    """

    kb_id: str
    leg: str
    hits: int = 0
    elapsed_ms: float = 0.0
    ready: int | None = None
    total: int | None = None
    skipped: str | None = None
    error: str | None = None


class QualityLevel(StrEnum):
    """How well the evidence covers the question."""

    OK = "ok"
    WEAK = "weak"
    NONE = "none"


class Quality(Message):
    """A level with its reason in one sentence."""

    level: QualityLevel
    reason: str


class Verdict(StrEnum):
    """What comparing a quote with its source, character by character, showed."""

    EXACT = "exact"
    NORMALISED = "normalised"
    MISATTRIBUTED = "misattributed"
    STITCHED = "stitched"
    NOT_FOUND = "not_found"


class QuoteOrigin(StrEnum):
    """Whose words a quote is: what the generator said it quotes, or what was found for a sentence without a quote."""

    GIVEN = "given"
    FOUND = "found"


class QuotePiece(Message):
    """Where a part of a quote stands: characters `start` to `end` of the document of source `number`."""

    number: int
    start: int
    end: int


class Quote(Message):
    """One use of a citation: the marker's range in the answer, and the source characters behind it.

    `answer_start` and `answer_end` are None for a quote that the generator gave and no marker of the text refers to.
    `start` and `end` are None when the verdict says that the quote does not stand in its source in one piece; then
    `pieces` tells where it does: one piece of another source (misattributed), or several (stitched).
    """

    answer_start: int | None
    answer_end: int | None
    cited_text: str
    start: int | None
    end: int | None
    page: int | None = None
    page_label: str | None = None
    verdict: Verdict
    origin: QuoteOrigin = QuoteOrigin.GIVEN
    pieces: tuple[QuotePiece, ...] = ()


class Citation(Message):
    """A source number that the answer uses, with each quote taken from it in the answer's order.

    `state` is what had become of its document when the answer ended.
    """

    number: int = Field(ge=1)
    kb_id: str
    doc_id: UUID
    page: int | None = None
    page_label: str | None = None
    state: SourceState = SourceState.CURRENT
    quotes: tuple[Quote, ...]


class SearchQuery(Message):
    """One query to one knowledge base; `context` holds earlier questions that weigh little beside it."""

    query: str
    kb_id: str
    context: tuple[str, ...] = ()


class ExplainedHit(Message):
    """How a chunk came to its place: its rank (from 1) and score in each leg, None where a leg did not find it.

    `fused` is the weighted sum of the legs' normalised scores, `reranked` the reranker's score, `similarity` what
    segments are built from; all three lie in [0, 1].
    """

    query: int
    doc_id: UUID
    file_name: str
    title: str
    ordinal: int
    start: int
    end: int
    lexical_rank: int | None = None
    lexical_score: float | None = None
    dense_rank: int | None = None
    dense_score: float | None = None
    fused: float
    reranked: float | None = None
    similarity: float
