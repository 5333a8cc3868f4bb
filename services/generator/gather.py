"""Collects what the knowledge bases of one question found: live as it comes, and from the stream what came before."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from nats.aio.msg import Msg
from pydantic import ValidationError

from citewire.contracts.events import SegmentsFound, now
from citewire.contracts.streams import SEGMENTS
from citewire.runtime.bus import Bus, seconds_left

# What came before this process listened, or was dropped here, is still in the stream: seconds until the first look,
# and until each later one.
LOOK_AFTER = (0.5, 1.0)
# Results that come before their question's plan wait for it, up to so many bytes and seconds.
EARLY_BYTES = 16 * 1024 * 1024
EARLY_LIFE = 30.0
# A knowledge base says at its own limit that it did not get so far: how long that may be on its way, and the least
# pause between two looks because of it.
LIMIT_GRACE = timedelta(seconds=0.2)
LEAST_PAUSE = 0.05
NO_LIMITS: Final[Mapping[str, datetime]] = {}


@dataclass
class _Gathering:
    waiting: set[str]
    limits: Mapping[str, datetime] = field(default_factory=dict)
    found: dict[str, SegmentsFound] = field(default_factory=dict)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, payload: bytes) -> None:
        """Keep the first result of each knowledge base that is waited for."""
        try:
            result = SegmentsFound.model_validate_json(payload)
        except ValidationError:
            # Not a result: the server's word that a look has ended.
            return
        if result.kb_id in self.waiting:
            self.waiting.discard(result.kb_id)
            self.found[result.kb_id] = result
        self._check()

    def pause(self, longest: float) -> float:
        """Seconds until something is to be done, even if nothing comes."""
        own = (seconds_left(self._limit(kb_id)) for kb_id in self.waiting if kb_id in self.limits)
        return min(longest, max(LEAST_PAUSE, min(own, default=longest)))

    def give_up(self, looked_at: datetime) -> None:
        """Wait no longer for knowledge bases whose own limit had passed when the stream was looked at."""
        self.waiting -= {kb_id for kb_id in self.waiting if kb_id in self.limits and self._limit(kb_id) <= looked_at}
        self._check()

    def _limit(self, kb_id: str) -> datetime:
        return self.limits[kb_id] + LIMIT_GRACE

    def _check(self) -> None:
        if not self.waiting:
            self.complete.set()


class _Early:
    """Results of questions that are not gathered here yet, and most of which never will be."""

    def __init__(self) -> None:
        self._payloads: dict[str, list[bytes]] = {}
        self._order: deque[tuple[float, str, int]] = deque()
        self._bytes = 0

    def keep(self, question_id: str, payload: bytes) -> None:
        """Keep a result, at the cost of the oldest."""
        now = asyncio.get_running_loop().time()
        self._payloads.setdefault(question_id, []).append(payload)
        self._order.append((now, question_id, len(payload)))
        self._bytes += len(payload)
        while self._order and (self._bytes > EARLY_BYTES or self._order[0][0] < now - EARLY_LIFE):
            _, oldest, size = self._order.popleft()
            self._bytes -= size
            self._payloads.pop(oldest, None)

    def take(self, question_id: str) -> list[bytes]:
        """The results of a question, which are kept no longer."""
        return self._payloads.pop(question_id, [])


class Gatherer:
    """Gathers over NATS, with one subscription for the results of all questions and one for all looks."""

    def __init__(self, bus: Bus) -> None:
        self._client = bus.client
        self._inbox = bus.client.new_inbox()
        self._gathering: dict[str, _Gathering] = {}
        self._early = _Early()

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator["Gatherer"]:
        """Listen for results until the block ends."""
        subscriptions = [
            await self._client.subscribe(f"{SegmentsFound.subject}.*.*", cb=self._take_live),
            await self._client.subscribe(f"{self._inbox}.*", cb=self._take_look),
        ]
        try:
            yield self
        finally:
            if not self._client.is_closed:
                for subscription in subscriptions:
                    await subscription.unsubscribe()

    async def gather(
        self,
        question_id: UUID,
        kb_ids: Sequence[str],
        until: datetime,
        limits: Mapping[str, datetime] = NO_LIMITS,
    ) -> dict[str, SegmentsFound]:
        """The results by knowledge base, those that came before `until`, or before the knowledge base's own limit."""
        if not kb_ids:
            return {}
        name = str(question_id)
        gathering = self._gathering[name] = _Gathering(set(kb_ids), limits)
        for payload in self._early.take(name):
            gathering.take(payload)
        try:
            await self._complete(gathering, name, until)
        finally:
            self._gathering.pop(name, None)
        return gathering.found

    async def _complete(self, gathering: _Gathering, question_id: str, until: datetime) -> None:
        longest, later = LOOK_AFTER
        looked_at = datetime.min.replace(tzinfo=UTC)
        while not gathering.complete.is_set() and (left := seconds_left(until)) > 0:
            if not await _happens(gathering.complete, min(gathering.pause(longest), left)):
                gathering.give_up(looked_at)
                looked_at, longest = now(), later
                await self._look(question_id)

    async def _look(self, question_id: str) -> None:
        """Ask the stream for the last message of each knowledge base of a question, in one request."""
        request = json.dumps({"multi_last": [f"{SegmentsFound.subject}.{question_id}.*"]}).encode()
        await self._client.publish(f"$JS.API.DIRECT.GET.{SEGMENTS}", request, f"{self._inbox}.{question_id}")

    async def _take_live(self, message: Msg) -> None:
        question_id = message.subject.rsplit(".", 2)[1]
        if (gathering := self._gathering.get(question_id)) is not None:
            gathering.take(message.data)
        else:
            self._early.keep(question_id, message.data)

    async def _take_look(self, message: Msg) -> None:
        if (gathering := self._gathering.get(message.subject.rpartition(".")[2])) is not None:
            gathering.take(message.data)


async def _happens(event: asyncio.Event, timeout: float) -> bool:  # noqa: ASYNC109 - a pause, not a limit
    try:
        async with asyncio.timeout(timeout):
            await event.wait()
    except TimeoutError:
        return False
    return True
