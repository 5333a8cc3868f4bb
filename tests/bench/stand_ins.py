"""Work that costs nothing, in place of searching and of a model: what is left is the chain itself."""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from uuid import NAMESPACE_OID, uuid5

from citewire.contracts.events import RetrievalPlanned, RetrievalRequested, SegmentsFound
from citewire.contracts.evidence import Leg, PageSpan, Segment, Source
from citewire.runtime.delivery import Consumer
from citewire.runtime.provision import SEARCHER
from citewire.runtime.service import Bindings, Service, Wires
from generator.draft import Draft

KBS = ("finance", "contracts", "handbook")
QUESTION = "How much did the revenue of the third quarter grow?"
DELTAS = 200
SEGMENT_CHARACTERS = 400
# About 20 characters each; the last one cites.
PIECES = (*(f"piece {number:03d} of a text " for number in range(1, DELTAS)), "and its last word [1].")


class FixedWriter:
    """The generator's text: always the same pieces, all at once."""

    async def write(self, plan: RetrievalPlanned, sources: Sequence[Source], draft: Draft) -> AsyncGenerator[str]:
        """All pieces."""
        for piece in PIECES:
            yield piece


def create_searcher() -> Service:
    """The retriever's stage, answering each request with one segment at once."""

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        async def search(request: RetrievalRequested) -> None:
            await wires.bus.publish(found(request))

        yield Bindings(consumers=(Consumer(SEARCHER, RetrievalRequested, search),))

    return Service("retriever", start)


def found(request: RetrievalRequested) -> SegmentsFound:
    """The result of every search: one segment that covers the question."""
    return SegmentsFound(
        question_id=request.question_id,
        deadline=request.deadline,
        kb_id=request.kb_id,
        segments=(SEGMENTS[request.kb_id],),
        legs=(Leg(kb_id=request.kb_id, leg="lexical", hits=1, elapsed_ms=0.1),),
    )


def _segment(kb_id: str) -> Segment:
    text = f"In {kb_id}, the revenue of the third quarter did grow by much. "
    text = (text * SEGMENT_CHARACTERS)[:SEGMENT_CHARACTERS]
    return Segment(
        kb_id=kb_id,
        doc_id=uuid5(NAMESPACE_OID, kb_id),
        version=1,
        title="Quarterly report",
        file_name="report.pdf",
        document_type="pdf",
        section="Results",
        pages=(PageSpan(number=3, label="3", start=0, end=SEGMENT_CHARACTERS),),
        start=0,
        end=SEGMENT_CHARACTERS,
        text=text,
        score=0.8,
        first_chunk=0,
        last_chunk=0,
    )


SEGMENTS = {kb_id: _segment(kb_id) for kb_id in KBS}
