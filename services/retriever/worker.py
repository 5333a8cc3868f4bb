"""A process beside this one, for work that would hold up the event loop or could bring the process down.

Requests and replies are pickles behind their length, over the child's standard streams; the child ends when its
input does, so it never outlives its parent. One piece of work at a time.
"""

import asyncio
import contextlib
import pickle
import signal
import struct
import sys
from types import TracebackType
from typing import Any, Self

from citewire.runtime.errors import TransientError
from retriever.contents import NewVersion, Unreadable

LENGTH = struct.Struct(">Q")
# Texts that are tokenised at once, and the seconds for what takes about one.
_BATCH = 2000
_BATCH_LIMIT = 60.0


class WorkerDied(Exception):  # noqa: N818 - says what happened
    """The child ended, or was ended, in the middle of its work."""


class Worker:
    """Starts its process at the first request, and again after one that ended it."""

    def __init__(self, reading_limit: float) -> None:
        self._reading_limit = reading_limit
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def read_file(self, file_name: str, data: bytes) -> NewVersion | Unreadable:
        """Parse and split a file; one that brings its reader down is unreadable too."""
        try:
            outcome: NewVersion | Unreadable = await self._do("read_file", self._reading_limit, file_name, data)
        except WorkerDied as error:
            return Unreadable(str(error))
        return outcome

    async def tokenise(self, texts: list[str]) -> list[str]:
        """Each text as its terms with a blank between them; raises TransientError."""
        terms: list[str] = []
        try:
            for start in range(0, len(texts), _BATCH):
                terms += await self._do("tokenise", _BATCH_LIMIT, texts[start : start + _BATCH])
        except WorkerDied as error:
            raise TransientError(f"tokenising: {error}") from error
        return terms

    async def _do(self, job: str, limit: float, *values: Any) -> Any:
        try:
            async with self._turn:
                reply = await self._ask(pickle.dumps((job, values)), limit)
        except TimeoutError as error:
            raise WorkerDied(f"it took longer than {limit:.0f} s") from error
        return pickle.loads(reply)  # noqa: S301 - from our own child

    async def _ask(self, request: bytes, limit: float) -> bytes:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await _start()
        try:
            async with asyncio.timeout(limit):
                return await _exchange(process, request)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            was_stopped = self._process is not process
            await self._end()
            raise WorkerDied(_last_words(None if was_stopped else process.returncode)) from error
        except BaseException:
            # A child whose reply was not taken would give it to the next request.
            await self._end()
            raise

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _last_words(code: int | None) -> str:
    """Why a child ended in the middle of its work, by how it ended."""
    if code == -signal.SIGKILL:
        # The kernel does so when memory runs out; nobody else has a reason to.
        return "it took more memory than there is"
    if code in {-signal.SIGABRT, -signal.SIGTRAP}:
        # Libraries in C end their process where they get no more memory.
        return "its reader gave up, most likely for want of memory"
    return "the process that did it ended without a word"


async def _start() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # the current folder is not a place to import from
        "-m",
        "retriever.child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl+C is for the parent, which ends its child in order
    )


async def _exchange(process: asyncio.subprocess.Process, request: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        raise ConnectionError("the child has no streams")
    process.stdin.write(LENGTH.pack(len(request)))
    process.stdin.write(request)
    await process.stdin.drain()
    (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
    return await process.stdout.readexactly(length)
