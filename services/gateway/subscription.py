"""The messages of a Redis subscription, without a task's turn for each of them."""

import asyncio
from collections.abc import Callable
from typing import Any

import hiredis
from redis.asyncio.connection import AbstractConnection


class Subscription(asyncio.Protocol):
    """Hands over each message as it comes. redis-py connects, and from then on only writes."""

    def __init__(self, take: Callable[[Any], None]) -> None:
        self._take = take
        self._parser = hiredis.Reader(encoding="utf-8")
        # Has the reason once the connection is lost.
        self.lost: asyncio.Future[ConnectionError] = asyncio.get_running_loop().create_future()

    def take_over(self, connection: AbstractConnection) -> None:
        """Read a connection from now on; nothing may be on its way to redis-py's own reader."""
        writer = connection._writer  # noqa: SLF001 - redis-py has no other way to its transport
        if writer is None:
            raise ConnectionError("closed")
        writer.transport.set_protocol(self)

    def data_received(self, data: bytes) -> None:
        """Take what came apart; what Redis never sends ends the connection."""
        self._parser.feed(data)
        while (message := self._parser.gets()) is not False:
            self._take(message)

    def connection_lost(self, error: Exception | None) -> None:
        """Tell whoever waits for it."""
        if not self.lost.done():
            self.lost.set_result(ConnectionError(str(error or "closed")))
