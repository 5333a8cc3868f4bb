"""A response that streams until its chunks end, its client leaves, or takes nothing for too long."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.connection import ABORT, BODY, Body

MEDIA_TYPE = "text/event-stream; charset=utf-8"
# How often in its time limit a send is looked at.
LOOKS = 4

log = structlog.get_logger()


class Chunks(Protocol):
    """What a stream sends."""

    def write_to(self, body: Body) -> None:
        """Write there at once what comes while `next` waits, as far as the body is free."""

    async def next(self) -> bytes:
        """The next chunk once it is there; empty at the end."""


class EventStream(Response):
    """Server-sent events.

    The server holds `send` back while its client takes nothing, and so the chunks: what is kept for a client is one
    chunk and the server's own buffer. After `send_limit` seconds in one send the connection is cut off.
    """

    def __init__(
        self, chunks: AbstractAsyncContextManager[Chunks], headers: Mapping[str, str], send_limit: float
    ) -> None:
        self._chunks = chunks
        self._send_limit = send_limit
        self.status_code = 200
        self.media_type = MEDIA_TYPE
        self.background = None
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        # A task of its own: here, each chunk would wake all the coroutines of the application around this one.
        sending = asyncio.create_task(self._send(send, scope["state"][ABORT], scope["state"][BODY]))
        leaving = asyncio.create_task(_leave(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(leaving)
            await _end(sending)
        if not sending.cancelled():
            sending.result()

    async def _send(self, send: Send, abort: Callable[[], None], body: Body) -> None:
        watch = _Watch(self._send_limit, abort)
        with watch.running():
            async with self._chunks as chunks:
                chunks.write_to(body)
                while chunk := await chunks.next():
                    watch.began = time.monotonic()
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    watch.began = None
            watch.began = time.monotonic()
            await send({"type": "http.response.body", "body": b""})


class _Watch:
    """Cuts a connection off whose send does not end. A timer for each send would cost as much as the send."""

    __slots__ = ("_cut", "_limit", "_timer", "began")

    def __init__(self, limit: float, cut: Callable[[], None]) -> None:
        self.began: float | None = None
        self._limit = limit
        self._cut = cut

    @contextlib.contextmanager
    def running(self) -> Generator[None]:
        """Watch until the block ends."""
        self._plan()
        try:
            yield
        finally:
            self._timer.cancel()

    def _plan(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._limit / LOOKS, self._look)

    def _look(self) -> None:
        if self.began is None or time.monotonic() - self.began < self._limit:
            self._plan()
        else:
            # The server then sees that the client is gone, and so do we.
            log.info("slow client cut off", seconds=self._limit)
            self._cut()


async def _leave(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(task: "asyncio.Task[None]") -> None:
    # As often as it takes: before Python 3.12, redis-py loses a cancellation now and then.
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1)
