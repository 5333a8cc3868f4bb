"""One Redis subscription for all clients of a gateway process: it only says which answers have news."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from citewire.runtime.answer_log import channel

log = structlog.get_logger()

# A subscription must have at least one channel; this one stays silent.
_IDLE_CHANNEL = "answer:none"
# Seconds without a message after which the connection is probed: a dead one says nothing by itself.
PROBE_INTERVAL = 5.0
RECONNECT_PAUSE = 0.2


class Hub:
    """Wakes the streams of an answer; a missed wake-up costs a moment, never a frame."""

    def __init__(self, redis: Redis) -> None:
        self._pubsub: PubSub = redis.pubsub(ignore_subscribe_messages=True)
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._probed = 0.0
        self._is_closing = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator["Hub"]:
        """Listen until the block ends."""
        await self._pubsub.subscribe(_IDLE_CHANNEL)
        listening = asyncio.create_task(self._listen())
        try:
            yield self
        finally:
            # redis-py may swallow a cancellation, so the loop must also see for itself that it is over.
            self._is_closing = True
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listening
            await self._pubsub.aclose()  # type: ignore[no-untyped-call] # redis-py

    @contextlib.asynccontextmanager
    async def wake_up(self, question_id: UUID) -> AsyncGenerator[asyncio.Event]:
        """An event that is set whenever the answer's log has grown."""
        name, event = channel(question_id), asyncio.Event()
        events = self._waiting.setdefault(name, set())
        events.add(event)
        try:
            if len(events) == 1:
                await self._try(self._pubsub.subscribe(name))
            yield event
        finally:
            events.discard(event)
            if not events:
                self._waiting.pop(name, None)
                await self._try(self._pubsub.unsubscribe(name))

    def wake_all(self) -> None:
        """Make every stream look, and see that the process is stopping or that news may have been missed."""
        for events in self._waiting.values():
            for event in events:
                event.set()

    async def _try(self, command: object) -> None:
        # Without a connection the listener subscribes anew as soon as there is one.
        with contextlib.suppress(RedisError, OSError):
            await command  # type: ignore[misc] # redis-py leaves these untyped

    async def _listen(self) -> None:
        while not self._is_closing:
            try:
                await self._take_one()
            except (RedisError, OSError) as error:
                log.warning("Redis subscription lost", error=repr(error))
                await asyncio.sleep(RECONNECT_PAUSE)
                await self._subscribe_again()

    async def _take_one(self) -> None:
        message = await self._pubsub.get_message(timeout=PROBE_INTERVAL)
        if message is None:
            # Nothing came, or a confirmation or `pong`, which redis-py passes on as nothing.
            await self._probe()
            return
        for event in self._waiting.get(str(message["channel"]), ()):
            event.set()

    async def _probe(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._probed >= PROBE_INTERVAL:
            self._probed = now
            await self._pubsub.ping()

    async def _subscribe_again(self) -> None:
        await self._try(self._pubsub.subscribe(_IDLE_CHANNEL, *self._waiting))
        # What was published in between was lost with the connection.
        self.wake_all()
