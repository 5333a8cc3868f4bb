"""One Redis subscription for all clients of a gateway process: it only says which answers have news."""

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisError

from citewire.runtime.answer_log import channel

log = structlog.get_logger()

# A subscription must have at least one channel; this one stays silent.
_IDLE_CHANNEL = "answer:none"
# Seconds without a message after which the connection is probed: a dead one says nothing by itself.
PROBE_INTERVAL = 5.0
RECONNECT_PAUSE = 0.2
# A confirmed subscription is news as well: what was published before it, nobody told us.
_NEWS = frozenset({"message", "subscribe"})


class Hub:
    """Wakes the streams of an answer; a missed wake-up costs a moment, never a frame."""

    def __init__(self, redis: Redis) -> None:
        self._pool = redis.connection_pool
        self._connection: AbstractConnection | None = None
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._is_closing = False
        self._is_quiet = False

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator["Hub"]:
        """Listen until the block ends."""
        listening = asyncio.create_task(self._listen())
        try:
            yield self
        finally:
            # redis-py may swallow a cancellation, so the loop must also see for itself that it is over.
            self._is_closing = True
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listening

    @contextlib.asynccontextmanager
    async def wake_up(self, question_id: UUID) -> AsyncGenerator[asyncio.Event]:
        """An event that is set whenever the answer's log has grown, and once at first."""
        name, event = channel(question_id), asyncio.Event()
        events = self._waiting.setdefault(name, set())
        events.add(event)
        try:
            if len(events) == 1:
                await self._tell("SUBSCRIBE", name)
            else:
                event.set()
            yield event
        finally:
            events.discard(event)
            if not events:
                self._waiting.pop(name, None)
                await self._tell("UNSUBSCRIBE", name)

    def wake_all(self) -> None:
        """Make every stream look, and see that the process is stopping."""
        for events in self._waiting.values():
            for event in events:
                event.set()

    async def _tell(self, *command: str) -> None:
        # Without a connection the listener subscribes to all as soon as there is one.
        if self._connection is not None:
            with contextlib.suppress(RedisError, OSError):
                await self._connection.send_command(*command)

    async def _listen(self) -> None:
        while not self._is_closing:
            try:
                await self._follow()
            except (RedisError, OSError) as error:
                log.warning("Redis subscription lost", error=repr(error))
                await asyncio.sleep(RECONNECT_PAUSE)

    async def _follow(self) -> None:
        """Pass news on for as long as one connection lasts."""
        connection = await self._pool.get_connection()  # type: ignore[no-untyped-call] # redis-py
        probing = asyncio.create_task(self._probe(connection))
        try:
            self._connection = connection
            await connection.send_command("SUBSCRIBE", _IDLE_CHANNEL, *self._waiting)
            while not self._is_closing:
                message = await connection.read_response(timeout=math.inf, push_request=True)
                self._is_quiet = False
                self._pass_on(message)
        finally:
            self._connection = None
            probing.cancel()
            await connection.disconnect(nowait=True)
            await self._pool.release(connection)

    async def _probe(self, connection: AbstractConnection) -> None:
        """Ask a silent connection for a word, and end one that does not give it."""
        with contextlib.suppress(RedisError, OSError):
            while True:
                self._is_quiet = True
                await asyncio.sleep(PROBE_INTERVAL)
                if self._is_quiet:
                    await connection.send_command("PING")
                    await asyncio.sleep(PROBE_INTERVAL)
                if self._is_quiet:
                    await connection.disconnect(nowait=True)

    def _pass_on(self, message: Any) -> None:
        if isinstance(message, list) and message[0] in _NEWS:
            for event in self._waiting.get(message[1], ()):
                event.set()
