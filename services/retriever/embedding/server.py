"""The embedding worker: one process that holds a model for all retrievers that share a data folder.

Queries have a thread of their own and never wait for passages. The process ends soon after its last client has
gone, however that client went.
"""

import asyncio
import contextlib
import fcntl
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter

from retriever.embedding.embedder import EmbedderUnavailable, Role
from retriever.embedding.frames import HELLO, Reply, Request, pack_reply, read_request
from retriever.embedding.local import LocalModel, load_model, thread_count
from retriever.embedding.place import Place
from retriever.embedding.settings import LocalSettings

# Seconds for the one that started this to connect, and until the end once the last client has left: nothing of a
# stack that was stopped should be seen after it.
_FIRST_CLIENT = 2.0
_LINGER = 0.1
# Seconds before a model that could not be loaded is tried again, for a hub that was away.
_RETRY_LOAD = 300.0
# How far passages stand back behind everything else on the machine.
_NICENESS = 10


class ModelHolder:
    """Loads its model at the first request; a failure is remembered for a while."""

    def __init__(self, load: Callable[[], LocalModel]) -> None:
        self._load = load
        self._model: LocalModel | None = None
        self._failure = EmbedderUnavailable("")
        self._retry_at = 0.0
        self._turn = asyncio.Lock()

    async def get(self) -> LocalModel:
        """Raises EmbedderUnavailable."""
        async with self._turn:
            if self._model is None:
                self._model = await self._try_to_load()
            return self._model

    async def _try_to_load(self) -> LocalModel:
        if time.monotonic() < self._retry_at:
            raise self._failure
        try:
            return await asyncio.to_thread(self._load)
        except EmbedderUnavailable as error:
            self._failure, self._retry_at = error, time.monotonic() + _RETRY_LOAD
            raise


class Server:
    """Answers any number of clients, each of which may have any number of requests under way."""

    def __init__(self, model: ModelHolder, passage_threads: int) -> None:
        self._model = model
        self._threads = {
            Role.QUERY: ThreadPoolExecutor(1, "query"),
            Role.PASSAGE: ThreadPoolExecutor(passage_threads, "passage", _stand_back),
        }
        self._clients = 0
        self._patience = _FIRST_CLIENT
        self._changed = asyncio.Event()

    async def serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client until it goes; what it still waited for is dropped."""
        async with self._present():
            try:
                async with asyncio.TaskGroup() as answers:
                    writer.write(HELLO)
                    while True:
                        request = await read_request(reader)
                        answers.create_task(self._answer(request, writer))
            except* (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

    async def until_alone(self) -> None:
        """Return when there has been no client for a while."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(None if self._clients else self._patience):
                    await self._changed.wait()
            except TimeoutError:
                return

    @contextlib.asynccontextmanager
    async def _present(self) -> AsyncGenerator[None]:
        self._clients += 1
        self._patience = _LINGER
        self._changed.set()
        try:
            yield
        finally:
            self._clients -= 1
            self._changed.set()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(pack_reply(await self._reply(request)))
        await writer.drain()

    async def _reply(self, request: Request) -> Reply:
        loop = asyncio.get_running_loop()
        try:
            model = await self._model.get()
            threads = self._threads[request.role]
            vectors = await loop.run_in_executor(threads, model.embed, request.texts, request.role)
        except EmbedderUnavailable as error:
            return Reply(request.number, unavailable=error.reason)
        return Reply(request.number, vectors)


def _stand_back() -> None:
    # Only Linux counts niceness by thread; elsewhere it would hold back the queries too.
    if sys.platform == "linux":
        os.nice(_NICENESS)


async def serve(place: Place, settings: LocalSettings, data_dir: Path) -> None:
    """Serve at a place until the last client has gone."""
    server = Server(ModelHolder(lambda: load_model(settings, data_dir)), thread_count(settings))
    with place.address() as address:
        listening = await asyncio.start_unix_server(server.serve_client, address)
        await server.until_alone()
        # Whoever connected in this very moment loses its connection, and starts the next worker.
        listening.close()
        place.socket.unlink(missing_ok=True)


def main(settings_json: str, data_dir: Path) -> None:
    """Serve, or end at once where another process does."""
    settings: LocalSettings = TypeAdapter(LocalSettings).validate_json(settings_json)
    place = Place.of(settings, data_dir)
    place.prepare()
    with place.lock.open("w") as lock:
        if _is_free(lock):
            asyncio.run(serve(place, settings, data_dir))
            # Nobody waits for what its threads may still be at.
            os._exit(0)


def _is_free(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
