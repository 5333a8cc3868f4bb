"""A server on loopback that answers every request with bytes of a test's own, whatever HTTP they are."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from dataclasses import dataclass, field

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
"""The head of a stream that ends with its connection."""


@dataclass
class RawServer:
    """Its address, the heads of the requests that came, and how many connections are open."""

    url: str = ""
    heads: list[str] = field(default_factory=list)
    open_connections: int = 0


@contextlib.asynccontextmanager
async def raw_server(
    answer: Iterable[bytes] | AsyncIterable[bytes], tls: ssl.SSLContext | None = None
) -> AsyncGenerator[RawServer]:
    """Sends the pieces of `answer`, an iterable that can be gone through again, and closes."""
    state, tasks = RawServer(), set[asyncio.Task[None] | None]()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        state.open_connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            state.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            async for piece in _pieces(answer):
                writer.write(piece)
                await writer.drain()
        state.open_connections -= 1
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    state.url = f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield state
    server.close()
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def _pieces(answer: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    if isinstance(answer, AsyncIterable):
        async for piece in answer:
            yield piece
    else:
        for piece in answer:
            yield piece
