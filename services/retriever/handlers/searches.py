"""The stage: a retrieval request becomes segments, or the reason why there are none."""

import asyncio
from dataclasses import dataclass

from citewire.contracts.events import RetrievalRequested, SegmentsFound
from citewire.contracts.evidence import SearchQuery
from citewire.contracts.requests import Search, SearchReply
from citewire.runtime.bus import Bus, seconds_left
from citewire.runtime.delivery import RETRY_DELAYS, RETRY_JITTER, delivery_count
from citewire.runtime.errors import Refusal, TransientError, not_found
from retriever.legs import LATE
from retriever.search import UNKNOWN, Asked, Found, Searcher, failed


@dataclass(frozen=True)
class Finder:
    """Answers searches."""

    bus: Bus
    searcher: Searcher

    async def search_kb(self, event: RetrievalRequested) -> None:
        """Say what a knowledge base has for a question, or at the deadline that it did not get so far.

        One that comes after its deadline is dropped: nobody waits for it.
        """
        if (left := seconds_left(event.deadline)) == 0:
            return
        asked = Asked(
            queries=event.queries,
            top_k=event.top_k,
            deadline=event.deadline,
            user=event.user,
            filter=event.filter,
            rse_params=event.rse_params,
            is_alone=event.is_alone,
        )
        try:
            async with asyncio.timeout(left):
                found = await self._search(event.kb_id, asked)
        except TimeoutError:
            found = failed(event.kb_id, LATE)
        except TransientError as error:
            if _has_another_try(event, error):
                raise
            found = failed(event.kb_id, str(error))
        await self.bus.publish(_segments_found(event, found))

    async def give_up(self, event: RetrievalRequested, reason: str) -> None:
        """Say that a knowledge base could not be searched, so that the others need not wait for it."""
        await self.bus.publish(_segments_found(event, failed(event.kb_id, reason)))

    async def search(self, request: Search) -> SearchReply:
        """Retrieval alone."""
        query = SearchQuery(query=request.query, kb_id=request.kb_id, context=request.context)
        asked = Asked(
            queries=(query,),
            top_k=request.top_k,
            user=request.user,
            filter=request.filter,
            mode=request.mode,
            rse_params=request.rse_params,
            explain=request.explain,
        )
        found = await self.searcher.search(request.kb_id, asked)
        if found.error == UNKNOWN:
            raise not_found(f"knowledge base: {request.kb_id}")
        return SearchReply(segments=found.segments, legs=found.legs, explained=found.explained)

    async def _search(self, kb_id: str, asked: Asked) -> Found:
        try:
            return await self.searcher.search(kb_id, asked)
        except Refusal as refusal:
            # The schema changed after the question was accepted.
            return failed(kb_id, str(refusal))


def _has_another_try(event: RetrievalRequested, error: TransientError) -> bool:
    """Whether the next delivery of a request comes before its deadline."""
    delay = max(error.retry_after, RETRY_DELAYS[min(delivery_count.get(), len(RETRY_DELAYS)) - 1])
    return seconds_left(event.deadline) > delay * (1 + RETRY_JITTER)


def _segments_found(event: RetrievalRequested, found: Found) -> SegmentsFound:
    return SegmentsFound(
        question_id=event.question_id,
        deadline=event.deadline,
        kb_id=event.kb_id,
        segments=found.segments,
        excluded=found.excluded,
        legs=found.legs,
        error=found.error,
    )
