"""The server: plain HTTP/1.1 on loopback, in the loop of whoever runs it."""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from scripted_model.connection import Connection, Received
from scripted_model.replies import Reply, Status


class ScriptedModel:
    """Answers each request with the next reply of its script; a request beyond that is an error of the test.

    Only requests with `key` get further than status 401; without `port` it takes a free one.
    """

    def __init__(self, port: int = 0, key: str | None = None) -> None:
        self.key = key or f"sk-scripted-{secrets.token_hex(16)}"
        self.url = ""
        self.requests: list[Received] = []
        self.connections: set[Connection] = set()
        self.connections_ever = 0
        self._port = port
        self._script: deque[Reply] = deque()
        self._otherwise: Callable[[Received], Reply] | None = None
        self._unexpected = 0

    @property
    def open_connections(self) -> int:
        """Those that no side has closed."""
        return len(self.connections)

    @property
    def pieces_sent(self) -> int:
        """Over all requests."""
        return sum(len(request.pieces) for request in self.requests)

    def play(self, *replies: Reply) -> None:
        """Replies to the next requests, in this order."""
        self._script.extend(replies)

    def always(self, reply: Reply | Callable[[Received], Reply]) -> None:
        """The reply to every request that finds none in the queue."""
        self._otherwise = reply if callable(reply) else lambda _: reply

    def reply_to(self, received: Received) -> Reply:
        """Take note of a request, and choose its reply."""
        self.requests.append(received)
        if received.headers.get("authorization") != f"Bearer {self.key}":
            return Status(401)
        if self._script:
            return self._script.popleft()
        if self._otherwise:
            return self._otherwise(received)
        self._unexpected += 1
        return Status(501)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(self._accept, "127.0.0.1", self._port)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        while self.connections:
            for connection in tuple(self.connections):
                connection.close()
            await asyncio.sleep(0)
        if error is None and self._unexpected:
            raise AssertionError(f"{self._unexpected} requests more than the script has replies")

    def _accept(self) -> Connection:
        self.connections_ever += 1
        return Connection(self)
