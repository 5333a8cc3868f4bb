"""A retriever's end of the socket."""

import asyncio
import contextlib
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.embedder import EmbedderUnavailable, Role
from retriever.embedding.frames import HELLO, Reply, Request, pack_request, read_reply
from retriever.embedding.place import Place


async def connect(place: Place) -> "Connection":
    """Raises FileNotFoundError or ConnectionError where nobody serves, and EmbedderUnavailable."""
    with place.address() as address:
        reader, writer = await asyncio.open_unix_connection(address)
    with contextlib.ExitStack() as undo:
        undo.callback(writer.close)
        if await reader.read(len(HELLO)) != HELLO:
            raise ConnectionError("the embedding worker was about to end")
        undo.pop_all()
    return Connection(reader, writer)


class Connection:
    """Any number of requests at a time; replies find theirs by its number. Holding it keeps the worker alive."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._listening = asyncio.create_task(self._listen())

    @property
    def is_open(self) -> bool:
        return not self._listening.done()

    async def ask(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Vectors [len(texts), dimension]; raises ConnectionError and EmbedderUnavailable."""
        reply = await self._exchange(Request(next(self._numbers), role, list(texts)))
        if reply.vectors is None:
            raise EmbedderUnavailable(reply.unavailable or "the embedding worker gave no reason")
        return reply.vectors

    async def close(self) -> None:
        self._listening.cancel()
        await asyncio.wait([self._listening])
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def _exchange(self, request: Request) -> Reply:
        if not self.is_open:
            raise ConnectionError("the embedding worker has gone")
        waiting = self._waiting[request.number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(pack_request(request))
            await self._writer.drain()
            reply: Reply = await waiting
        finally:
            del self._waiting[request.number]
        return reply

    async def _listen(self) -> None:
        try:
            while True:
                reply = await read_reply(self._reader)
                # Nobody waits any more for what took too long.
                if (waiting := self._waiting.get(reply.number)) is not None and not waiting.done():
                    waiting.set_result(reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._fail_waiting()

    def _fail_waiting(self) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError("the embedding worker has gone"))
