"""Embedding workers of a test, and clients in processes of their own."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil

_CLIENT = """
import asyncio, sys
from pathlib import Path
from retriever.embedding.embedders import open_embedders

async def main():
    async with open_embedders({}, Path(sys.argv[1])) as embedders:
        vectors = await embedders.get("e5").passages([sys.argv[2]])
        print(vectors.tobytes().hex(), flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


def workers_of(data_dir: Path) -> list[psutil.Process]:
    """The worker processes of a data folder that run."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            command = process.cmdline()
            if "retriever.embedding.server" in command and str(data_dir) in command:
                found.append(process)
    return found


def has_ended(process: psutil.Process) -> bool:
    """Whether it is gone, or waits for nothing but its parent to notice."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class Client:
    """A process that embeds one text and stays connected."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def vector(self) -> bytes:
        """What it made of its text, as float32; raises TimeoutError."""
        assert self._process.stdout is not None
        async with asyncio.timeout(60):
            return bytes.fromhex((await self._process.stdout.readline()).decode())

    async def kill(self) -> None:
        """SIGKILL, as an operator's or the kernel's."""
        self._process.kill()
        await self._process.wait()


@contextlib.asynccontextmanager
async def client_process(data_dir: Path, text: str) -> AsyncGenerator[Client]:
    """Runs a client until the context ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _CLIENT,
        str(data_dir),
        text,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Client(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
