"""A streamed response, driven as an ASGI server does."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message, Scope

from gateway.connection import ABORT, BODY, Body
from gateway.event_stream import EventStream
from waiting import until

LIMIT = 0.05


class Connection:
    """A client that takes so many messages, and reads until it leaves."""

    def __init__(self, messages: int = 100) -> None:
        self._messages = messages
        self.sent: list[Message] = []
        self.left = asyncio.Event()
        self.takes = asyncio.Event()
        self.takes.set()
        # As the server has it: whoever waits to send goes on, and learns that the client is gone.
        self.scope: Scope = {"type": "http", "state": {ABORT: self.abort, BODY: self}}

    def abort(self) -> None:
        self.left.set()
        self.takes.set()

    @property
    def is_free(self) -> bool:
        return self.takes.is_set()

    def write(self, piece: bytes) -> None:
        self.sent.append({"type": "http.response.body", "body": piece, "more_body": True})

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.takes.wait()
        self.sent.append(message)
        if len(self.sent) == self._messages:
            self.takes.clear()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


class TwoChunks:
    """Two chunks, then silence unless it is to end."""

    def __init__(self, *, is_endless: bool) -> None:
        self.is_closed = False
        self._chunks = [b"a", b"b"]
        self._is_endless = is_endless
        self.body: Body | None = None

    def write_to(self, body: Body) -> None:
        self.body = body

    async def next(self) -> bytes:
        if self._chunks:
            return self._chunks.pop(0)
        if self._is_endless:
            await asyncio.Event().wait()
        return b""

    @contextlib.asynccontextmanager
    async def stream(self) -> AsyncGenerator["TwoChunks"]:
        try:
            yield self
        finally:
            self.is_closed = True


async def test_a_stream_sends_its_head_its_chunks_and_its_end() -> None:
    connection, chunks = Connection(), TwoChunks(is_endless=False)

    await EventStream(chunks.stream(), {"X-Question-Id": "1"}, LIMIT)(
        connection.scope, connection.receive, connection.send
    )

    head, *bodies = connection.sent
    assert head["status"] == 200
    assert (b"content-type", b"text/event-stream; charset=utf-8") in head["headers"]
    assert (b"x-question-id", b"1") in head["headers"]
    assert [(body["body"], body.get("more_body", False)) for body in bodies] == [
        (b"a", True),
        (b"b", True),
        (b"", False),
    ]


async def test_chunks_may_write_past_the_server_once_the_head_is_sent() -> None:
    connection, chunks = Connection(), TwoChunks(is_endless=True)
    response = EventStream(chunks.stream(), {}, LIMIT)
    streaming = asyncio.create_task(response(connection.scope, connection.receive, connection.send))
    await until(lambda: connection.body == b"ab")

    assert chunks.body is not None
    chunks.body.write(b"c")

    assert connection.body == b"abc"
    connection.left.set()
    await streaming


async def test_b09_a_client_that_leaves_ends_the_stream_quietly() -> None:
    connection, chunks = Connection(), TwoChunks(is_endless=True)
    response = EventStream(chunks.stream(), {}, LIMIT)
    streaming = asyncio.create_task(response(connection.scope, connection.receive, connection.send))
    await until(lambda: connection.body == b"ab")

    connection.left.set()
    await streaming

    assert chunks.is_closed
    assert connection.body == b"ab"


async def test_a_server_that_cancels_the_stream_sees_it_cancelled() -> None:
    connection, chunks = Connection(), TwoChunks(is_endless=True)
    response = EventStream(chunks.stream(), {}, LIMIT)
    streaming = asyncio.create_task(response(connection.scope, connection.receive, connection.send))
    await until(lambda: connection.body == b"ab")

    streaming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await streaming

    assert chunks.is_closed


async def test_a_client_that_takes_nothing_for_too_long_is_cut_off() -> None:
    connection, chunks = Connection(messages=2), TwoChunks(is_endless=True)

    async with asyncio.timeout(10):
        await EventStream(chunks.stream(), {}, LIMIT)(connection.scope, connection.receive, connection.send)

    assert chunks.is_closed
    assert connection.left.is_set()


async def test_a_silent_answer_is_no_reason_to_cut_its_client_off() -> None:
    connection, chunks = Connection(), TwoChunks(is_endless=True)
    response = EventStream(chunks.stream(), {}, LIMIT)
    streaming = asyncio.create_task(response(connection.scope, connection.receive, connection.send))
    await until(lambda: connection.body == b"ab")

    ended, _ = await asyncio.wait({streaming}, timeout=3 * LIMIT)

    assert not ended
    connection.left.set()
    await streaming


async def test_an_error_in_the_chunks_is_the_servers_to_see() -> None:
    chunks = TwoChunks(is_endless=False)

    async def fail() -> bytes:
        raise ValueError("broken")

    chunks.next = fail  # type: ignore[method-assign] # the stream of a bug
    connection = Connection()

    with pytest.raises(ValueError, match="broken"):
        await EventStream(chunks.stream(), {}, LIMIT)(connection.scope, connection.receive, connection.send)
