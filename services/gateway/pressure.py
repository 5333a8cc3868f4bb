"""How much waits in the stages, looked at each second; over the limit, new questions are refused before acceptance."""

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field

import nats.errors
import structlog
from nats.js import JetStreamContext
from nats.js.api import ConsumerInfo

from citewire.contracts import streams
from citewire.runtime.errors import overloaded
from citewire.runtime.provision import ANSWERER, PLANNER, searcher_of
from gateway.hub import Hub
from gateway.settings import Settings

SAMPLE_INTERVAL = 1.0
# Samples that the rate of a stage is taken from.
SAMPLES = 5
# Streams whose consumers are the stages that a question passes.
STAGES = (streams.QUESTIONS, streams.RETRIEVALS, streams.PLANS)
# Seconds; a stage that does not move says nothing about when it will.
MIN_RETRY_AFTER, MAX_RETRY_AFTER = 1, 30

log = structlog.get_logger()


@dataclass
class Stage:
    """What one consumer had waiting and had handled, at the latest times that it was looked at."""

    depth: int = 0
    handled: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=SAMPLES))

    def sample(self, at: float, depth: int, handled: int) -> None:
        """Note what was seen at a time (seconds of a steady clock)."""
        self.depth = depth
        self.handled.append((at, handled))

    @property
    def rate(self) -> float:
        """Messages handled per second, lately."""
        if len(self.handled) <= 1:
            return 0.0
        (first, before), (last, after) = self.handled[0], self.handled[-1]
        return max(0, after - before) / (last - first)

    @property
    def retry_after(self) -> int:
        """Seconds in which what waits now is done."""
        seconds = self.depth / self.rate if self.rate else math.inf
        return max(MIN_RETRY_AFTER, math.ceil(min(seconds, MAX_RETRY_AFTER)))


class Pressure:
    """Says whether this gateway may accept one more question."""

    def __init__(self, js: JetStreamContext, hub: Hub, draining: asyncio.Event, settings: Settings) -> None:
        self._js = js
        self._hub = hub
        self._draining = draining
        self._settings = settings
        self.stages: dict[str, Stage] = {}

    @contextlib.asynccontextmanager
    async def sampling(self) -> AsyncGenerator["Pressure"]:
        """Look at the stages until the block ends."""
        sampling = asyncio.create_task(self._sample())
        try:
            yield self
        finally:
            sampling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sampling

    def check(self, pools: Iterable[str]) -> None:
        """Raises Refusal 503 when a question that is searched in these pools would come too late to be answered."""
        if self._draining.is_set():
            raise overloaded("This server is stopping.", MIN_RETRY_AFTER)
        if 0 < self._settings.max_streams <= self._hub.open_streams:
            raise overloaded("Too many answers are being read.", MIN_RETRY_AFTER)
        for durable in (PLANNER.durable, ANSWERER.durable, *(searcher_of(pool).durable for pool in pools)):
            stage = self.stages.get(durable)
            if stage is not None and 0 < self._settings.max_waiting <= stage.depth:
                raise overloaded("Too many questions are waiting.", stage.retry_after)

    async def _sample(self) -> None:
        is_known = True
        while True:
            try:
                consumers = [info for name in STAGES for info in await self._js.consumers_info(name)]
            except (nats.errors.Error, TimeoutError) as error:
                if is_known:
                    log.warning("stages can't be looked at", error=repr(error))
                # What is not known bounds nothing; a bus that is away refuses by itself.
                is_known = False
                self.stages.clear()
            else:
                is_known = True
                self._take(consumers, time.monotonic())
            await asyncio.sleep(SAMPLE_INTERVAL)

    def _take(self, consumers: Iterable[ConsumerInfo], at: float) -> None:
        for info in consumers:
            unacknowledged = info.num_ack_pending or 0
            delivered = info.delivered.consumer_seq if info.delivered else 0
            stage = self.stages.setdefault(info.name, Stage())
            stage.sample(at, (info.num_pending or 0) + unacknowledged, delivered - unacknowledged)
