"""One Redis subscription for all clients of a gateway process: it hands the entries of answers to their readers."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisError

from citewire.runtime.answer_log import channel
from citewire.runtime.errors import TransientError
from gateway.news import News
from gateway.subscription import Subscription

log = structlog.get_logger()

# A subscription must have at least one channel; this one stays silent.
_IDLE_CHANNEL = "answer:none"
# Seconds without a message after which the connection is probed: a dead one says nothing by itself.
PROBE_INTERVAL = 5.0
RECONNECT_PAUSE = 0.2
# How exact the readers' waits are, in seconds: one clock for all costs less than a timer for each wait.
TICK = 0.25
# Protocol 2: in protocol 3 redis-py logs each message, which takes longer than all the rest of it.
_OPTIONS = {"protocol": 2}


class Hub:
    """Feeds the readers of answers. What a connection loses costs a look into the log, never an entry."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._connection: AbstractConnection | None = None
        self._readers: dict[str, set[News]] = {}
        self._is_closing = False
        self._is_quiet = False
        # Read by `pressure`.
        self.open_streams = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator["Hub"]:
        """Listen until the block ends."""
        tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._tick())]
        try:
            yield self
        finally:
            # redis-py may swallow a cancellation, so the loop must also see for itself that it is over.
            self._is_closing = True
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    @contextlib.asynccontextmanager
    async def follow(self, question_id: UUID) -> AsyncGenerator[News]:
        """What is written to an answer's log from now on; at first, the reader must look what is there."""
        name, news = channel(question_id), News()
        readers = self._readers.setdefault(name, set())
        readers.add(news)
        self.open_streams += 1
        try:
            if len(readers) == 1:
                await self._tell("SUBSCRIBE", name)
            else:
                news.look()
            yield news
        finally:
            self.open_streams -= 1
            readers.discard(news)
            # Others may have come and gone meanwhile: the set may no longer be the channel's.
            if not readers and self._readers.get(name) is readers:
                del self._readers[name]
                await self._tell("UNSUBSCRIBE", name)

    def has_readers(self, question_id: UUID) -> bool:
        """Whether a client of this process reads an answer."""
        return channel(question_id) in self._readers

    async def listeners(self, question_id: UUID) -> int:
        """How many gateway processes have readers of an answer; raises TransientError when Redis is away."""
        try:
            ((_, listeners),) = await self._redis.pubsub_numsub(channel(question_id))
        except (RedisError, OSError) as error:
            raise TransientError(f"Redis: {error!r}") from error
        return int(listeners)

    def wake_all(self) -> None:
        """Make every reader look, and see that the process is stopping."""
        for news in self._all():
            news.look()

    def _all(self) -> list[News]:
        return [news for readers in self._readers.values() for news in readers]

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(TICK)
            for news in self._all():
                news.expire(loop.time())

    async def _tell(self, *command: str) -> None:
        # Without a connection the listener subscribes to all as soon as there is one.
        if self._connection is not None:
            with contextlib.suppress(RedisError, OSError):
                await self._connection.send_command(*command)

    async def _listen(self) -> None:
        while not self._is_closing:
            try:
                await self._hear()
            except (RedisError, OSError) as error:
                log.warning("Redis subscription lost", error=repr(error))
                await asyncio.sleep(RECONNECT_PAUSE)

    async def _hear(self) -> None:
        """Pass news on for as long as one connection lasts."""
        pool = self._redis.connection_pool
        connection = pool.connection_class(**pool.connection_kwargs | _OPTIONS)
        probing = asyncio.create_task(self._probe(connection))
        try:
            await connection.connect()  # type: ignore[no-untyped-call] # redis-py
            self._connection = connection
            subscription = Subscription(self._hear_of)
            subscription.take_over(connection)
            await connection.send_command("SUBSCRIBE", _IDLE_CHANNEL, *self._readers)
            raise await subscription.lost
        finally:
            self._connection = None
            probing.cancel()
            await connection.disconnect(nowait=True)

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

    def _hear_of(self, message: Any) -> None:
        self._is_quiet = False
        kind, name = message[0], message[1]
        readers = self._readers.get(name)
        if not readers:
            return
        if kind == "message":
            first, *entries = message[2].split("\n")
            for news in readers:
                news.offer(int(first), entries, len(message[2]))
        elif kind == "subscribe":
            # What was published before the subscription, nobody told us.
            for news in readers:
                news.look()
