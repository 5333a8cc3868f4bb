"""What is said of a knowledge base within the time that a question has for it."""

import asyncio
from collections import deque
from typing import Any
from uuid import uuid4

import pytest

from citewire.contracts.events import RetrievalRequested, SegmentsFound, now
from citewire.contracts.evidence import SearchQuery
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError, invalid
from retriever.handlers.searches import Finder
from retriever.search import Asked, Found, Searcher

NOTHING = Found((), (), ())


class RecordingBus(Bus):
    """Keeps what is published."""

    def __init__(self) -> None:
        self.published: list[Any] = []

    async def publish(self, event: Any) -> None:
        self.published.append(event)


class ScriptedSearcher(Searcher):
    """Gives, raises, or never answers, as it is told."""

    def __init__(self, *script: Found | Exception | None) -> None:
        self._script = deque(script)
        self.is_given_up = False
        self.searches = 0

    async def search(self, kb_id: str, asked: Asked) -> Found:
        self.searches += 1
        step = self._script.popleft()
        if step is None:
            await self._never()
        if isinstance(step, Exception):
            raise step
        return step or NOTHING

    async def _never(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.is_given_up = True
            raise


def request(seconds: float = 60) -> RetrievalRequested:
    at = now()
    return RetrievalRequested(
        question_id=uuid4(),
        deadline=at.fromtimestamp(at.timestamp() + seconds, at.tzinfo),
        kb_id="kb",
        queries=(SearchQuery(query="ticket", kb_id="kb"),),
        top_k=8,
    )


async def found(searcher: ScriptedSearcher, event: RetrievalRequested) -> list[SegmentsFound]:
    bus = RecordingBus()
    await Finder(bus, searcher).search_kb(event)
    return bus.published


async def test_a_search_that_does_not_end_in_time_says_so_in_its_legs() -> None:
    searcher = ScriptedSearcher(None)

    (said,) = await found(searcher, request(seconds=0.05))

    assert said.error == "no answer in time"
    assert {leg.leg: leg.error for leg in said.legs} == {
        "lexical": "no answer in time",
        "dense": "no answer in time",
    }


async def test_a_search_that_does_not_end_in_time_is_given_up() -> None:
    searcher = ScriptedSearcher(None)

    await found(searcher, request(seconds=0.05))

    assert searcher.is_given_up


async def test_a_request_past_its_deadline_is_dropped() -> None:
    searcher = ScriptedSearcher()

    assert await found(searcher, request(seconds=-1)) == []
    assert searcher.searches == 0


async def test_b16_a_failed_search_is_tried_anew() -> None:
    searcher, event = ScriptedSearcher(TransientError("Postgres is away"), NOTHING), request()

    with pytest.raises(TransientError):
        await found(searcher, event)
    (said,) = await found(searcher, event)

    assert said.error is None


async def test_b15_a_search_that_can_not_be_tried_again_in_time_says_why_it_failed() -> None:
    (said,) = await found(ScriptedSearcher(TransientError("Postgres is away")), request(seconds=1))

    assert said.error == "Postgres is away"


async def test_a_filter_that_no_longer_fits_is_told_as_the_reason() -> None:
    (said,) = await found(ScriptedSearcher(invalid("filter", "is unknown")), request())

    assert said.error == "filter: is unknown"
