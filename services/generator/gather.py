"""Collects what the knowledge bases of one question found: live as it comes, and from the stream what came before."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from nats.aio.msg import Msg
from pydantic import ValidationError

from citewire.contracts.events import SegmentsFound
from citewire.contracts.streams import SEGMENTS
from citewire.runtime.bus import Bus, seconds_left

# The stream stores a message a moment after it was accepted, so one look can miss what the subscription
# missed too: look again at growing intervals, in seconds. Real searches take longer than the first.
LOOK_AFTER = (0.004, 0.016, 0.064, 0.25, 1.0)


@dataclass
class _Gathering:
    waiting: set[str]
    found: dict[str, SegmentsFound] = field(default_factory=dict)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, message: Msg) -> None:
        """Keep the first result of each knowledge base that is waited for."""
        try:
            result = SegmentsFound.model_validate_json(message.data)
        except ValidationError:
            # Not a result: the server's word that a look has ended.
            return
        if result.kb_id in self.waiting:
            self.waiting.discard(result.kb_id)
            self.found[result.kb_id] = result
        if not self.waiting:
            self.complete.set()


class Gatherer:
    """Gathers over NATS; looks of all questions are answered on one inbox."""

    def __init__(self, bus: Bus) -> None:
        self._client = bus.client
        self._inbox = bus.client.new_inbox()
        self._gathering: dict[str, _Gathering] = {}

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator["Gatherer"]:
        """Listen for answers to looks until the block ends."""
        subscription = await self._client.subscribe(f"{self._inbox}.*", cb=self._take_look)
        try:
            yield self
        finally:
            if not self._client.is_closed:
                await subscription.unsubscribe()

    async def gather(self, question_id: UUID, kb_ids: Sequence[str], until: datetime) -> dict[str, SegmentsFound]:
        """The results by knowledge base, those that came before `until`."""
        if not kb_ids:
            return {}
        gathering = self._gathering[str(question_id)] = _Gathering(set(kb_ids))
        subscription = await self._client.subscribe(_subject(question_id), cb=gathering.take)
        try:
            await self._complete(gathering, question_id, until)
        finally:
            self._gathering.pop(str(question_id), None)
            await subscription.unsubscribe()
        return gathering.found

    async def _complete(self, gathering: _Gathering, question_id: UUID, until: datetime) -> None:
        looks = 0
        while not gathering.complete.is_set() and (left := seconds_left(until)) > 0:
            pause = LOOK_AFTER[min(looks, len(LOOK_AFTER) - 1)]
            if not await _happens(gathering.complete, min(pause, left)):
                looks += 1
                await self._look(question_id)

    async def _look(self, question_id: UUID) -> None:
        """Ask the stream for the last message of each knowledge base of a question, in one request."""
        request = json.dumps({"multi_last": [_subject(question_id)]}).encode()
        await self._client.publish(f"$JS.API.DIRECT.GET.{SEGMENTS}", request, f"{self._inbox}.{question_id}")

    async def _take_look(self, message: Msg) -> None:
        if (gathering := self._gathering.get(message.subject.rpartition(".")[2])) is not None:
            await gathering.take(message)


def _subject(question_id: UUID) -> str:
    return f"{SegmentsFound.subject}.{question_id}.*"


async def _happens(event: asyncio.Event, timeout: float) -> bool:  # noqa: ASYNC109 - a pause, not a limit
    try:
        async with asyncio.timeout(timeout):
            await event.wait()
    except TimeoutError:
        return False
    return True
