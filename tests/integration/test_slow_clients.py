"""A client that takes nothing, at a real server over a real connection."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Generator
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from gateway.connection import Body, Connection
from gateway.event_stream import EventStream
from waiting import until

CHUNK = b":" + b"x" * 65536 + b"\n\n"
LIMIT = 0.3


class Endless:
    """An application whose every answer never ends."""

    def __init__(self) -> None:
        self.open_streams = 0
        self.sent = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream(self._chunks(), {}, LIMIT)(scope, receive, send)

    def write_to(self, body: Body) -> None:
        self.body = body

    async def next(self) -> bytes:
        await asyncio.sleep(0)
        self.sent += len(CHUNK)
        return CHUNK

    @contextlib.asynccontextmanager
    async def _chunks(self) -> AsyncGenerator["Endless"]:
        self.open_streams += 1
        try:
            yield self
        finally:
            self.open_streams -= 1


class Server(uvicorn.Server):
    """Leaves signals to the tests."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def serving(app: Endless) -> AsyncGenerator[tuple[Server, int]]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=Connection, lifespan="off", log_config=None, timeout_graceful_shutdown=5)
    server = Server(config)
    running = asyncio.create_task(server.serve([listener]))
    await until(lambda: server.started)
    try:
        yield server, listener.getsockname()[1]
    finally:
        server.should_exit = True
        await running


@contextlib.contextmanager
def stalled_client(port: int) -> Generator[None]:
    """A client that asks and takes nothing."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        yield


async def test_a_stalled_connection_is_freed_with_all_that_it_held() -> None:
    app = Endless()
    async with serving(app) as (server, port):
        with stalled_client(port):
            await until(lambda: app.open_streams == 1)

            await until(lambda: not (app.open_streams or server.server_state.connections))


async def test_a_stalled_client_is_cut_off_also_where_chunks_are_written_past_the_server() -> None:
    class WritesAtOnce(Endless):
        async def next(self) -> bytes:
            while self.body.is_free:
                self.body.write(CHUNK)
                await asyncio.sleep(0)
            return await super().next()

    app = WritesAtOnce()
    async with serving(app) as (server, port):
        with stalled_client(port):
            await until(lambda: app.open_streams == 1)

            await until(lambda: not (app.open_streams or server.server_state.connections))


async def test_what_a_stalled_client_is_sent_is_bounded() -> None:
    app = Endless()
    async with serving(app) as (_, port):
        with stalled_client(port):
            await until(lambda: app.sent > 0)
            await until(lambda: app.open_streams == 0)

    # The kernel's buffers of both ends take some megabytes.
    assert app.sent < 32_000_000
