"""The product's own answers, written slowly, so that a fault hits answers that are being written."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.evidence import Source
from generator.draft import Draft
from generator.extractive import ExtractiveWriter

# Characters of one piece.
PIECE = 6


class SlowWriter(ExtractiveWriter):
    """Extracts in small pieces with a pause before each; the same pieces for the same sources."""

    def __init__(self, pause: float) -> None:
        self._pause = pause

    async def write(self, plan: RetrievalPlanned, sources: Sequence[Source], draft: Draft) -> AsyncGenerator[str]:
        """The pieces of the answer."""
        async for line in super().write(plan, sources, draft):
            for start in range(0, len(line), PIECE):
                await asyncio.sleep(self._pause)
                yield line[start : start + PIECE]
