"""This machine's embedding worker, as a retriever finds or starts it."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewire.runtime.errors import TransientError
from retriever.embedding.connection import Connection, connect
from retriever.embedding.embedder import Role
from retriever.embedding.place import Place
from retriever.embedding.settings import LocalSettings

# Seconds between two looks for a worker that starts.
_PAUSE = 0.02


class Worker:
    """Connects to the worker at the first request, starts it where there is none, and both again when it died."""

    def __init__(self, settings: LocalSettings, data_dir: Path) -> None:
        self._place = Place.of(settings, data_dir)
        self._arguments = (settings.model_dump_json(), str(data_dir.absolute()))
        self._connection: Connection | None = None
        self._child: int | None = None
        self._turn = asyncio.Lock()

    async def ask(self, texts: Sequence[str], role: Role, limit: float) -> NDArray[np.float32]:
        """Vectors [len(texts), dimension] within `limit` seconds; raises TransientError and EmbedderUnavailable."""
        try:
            async with asyncio.timeout(limit):
                return await self._ask_twice(texts, role)
        except TimeoutError as error:
            raise TransientError(f"the embedding worker took longer than {limit:.0f} s") from error
        except ConnectionError as error:
            raise TransientError("the embedding worker died over the same request twice") from error
        except OSError as error:
            raise TransientError(f"the embedding worker cannot be started or reached: {error.strerror}") from error

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
        self._reap()

    async def _ask_twice(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        with contextlib.suppress(ConnectionError):
            return await self._ask(texts, role)
        return await self._ask(texts, role)

    async def _ask(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        connection = await self._connected()
        try:
            return await connection.ask(texts, role)
        except ConnectionError:
            # The end of a connection may show in writing before it shows in reading.
            await connection.close()
            raise

    async def _connected(self) -> Connection:
        async with self._turn:
            if self._connection is None or not self._connection.is_open:
                if self._connection is not None:
                    await self._connection.close()
                self._connection = await self._connect()
            return self._connection

    async def _connect(self) -> Connection:
        self._place.prepare()
        self._reap()
        while True:
            with contextlib.suppress(FileNotFoundError, ConnectionError):
                return await connect(self._place)
            if self._child is None:
                self._child = _start(self._place, self._arguments)
            await asyncio.sleep(_PAUSE)
            # 0: it found another at work, or about to end. Below 0: it was killed, maybe the one of before.
            if self._reap() > 0:
                raise TransientError(f"the embedding worker did not start: see {self._place.log}")

    def _reap(self) -> int:
        """The exit status of the process that was started last, if it has ended since, else 0."""
        if self._child is None:
            return 0
        child, status = os.waitpid(self._child, os.WNOHANG)
        if child == 0:
            return 0
        self._child = None
        return os.waitstatus_to_exitcode(status)


def _start(place: Place, arguments: tuple[str, str]) -> int:
    """The process's id. Not a subprocess of asyncio: those are killed with the loop, and this one may serve others."""
    # -P: the current folder is not a place to import from.
    command = [sys.executable, "-P", "-m", "retriever.embedding.server", *arguments]
    log = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        sys.executable,
        command,
        {**os.environ, "TOKENIZERS_PARALLELISM": "false"},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(place.log), log, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,  # Ctrl+C is for its clients, whose end it sees
    )
