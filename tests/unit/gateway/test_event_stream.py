"""A streamed response, driven as an ASGI server does."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message, Scope

from gateway.event_stream import EventStream
from waiting import until

SCOPE: Scope = {"type": "http"}


class Connection:
    """A client that reads all, until it leaves."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.left = asyncio.Event()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


class Chunks:
    """Two chunks, then silence unless it is to end."""

    def __init__(self, *, is_endless: bool) -> None:
        self.is_closed = False
        self._is_endless = is_endless

    async def stream(self) -> AsyncGenerator[bytes]:
        try:
            yield b"a"
            yield b"b"
            if self._is_endless:
                await asyncio.Event().wait()
        finally:
            self.is_closed = True


async def test_a_stream_sends_its_head_its_chunks_and_its_end() -> None:
    connection, chunks = Connection(), Chunks(is_endless=False)

    await EventStream(chunks.stream(), {"X-Question-Id": "1"})(SCOPE, connection.receive, connection.send)

    head, *bodies = connection.sent
    assert head["status"] == 200
    assert (b"content-type", b"text/event-stream; charset=utf-8") in head["headers"]
    assert (b"x-question-id", b"1") in head["headers"]
    assert [(body["body"], body.get("more_body", False)) for body in bodies] == [
        (b"a", True),
        (b"b", True),
        (b"", False),
    ]


async def test_b09_a_client_that_leaves_ends_the_stream_quietly() -> None:
    connection, chunks = Connection(), Chunks(is_endless=True)
    response = EventStream(chunks.stream(), {})
    streaming = asyncio.create_task(response(SCOPE, connection.receive, connection.send))
    await until(lambda: connection.body == b"ab")

    connection.left.set()
    await streaming

    assert chunks.is_closed
    assert connection.body == b"ab"


async def test_a_server_that_cancels_the_stream_sees_it_cancelled() -> None:
    connection, chunks = Connection(), Chunks(is_endless=True)
    response = EventStream(chunks.stream(), {})
    streaming = asyncio.create_task(response(SCOPE, connection.receive, connection.send))
    await until(lambda: connection.body == b"ab")

    streaming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await streaming

    assert chunks.is_closed
