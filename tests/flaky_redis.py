"""A way to Redis that a test can block: what goes through it is cut, held up, or loses its replies."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit


class FlakyRedis:
    """Passes bytes on between clients and the real server, for as long as it lets them."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = str(parts.hostname), int(parts.port or 0)
        self._path = parts.path
        self._is_open = True
        self._loses_replies = False
        self._is_moving = asyncio.Event()
        self._is_moving.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator["FlakyRedis"]:
        """Listen until the block ends."""
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        try:
            yield self
        finally:
            self._is_moving.set()
            self._server.close()
            self._close_all()

    @property
    def url(self) -> str:
        """Where clients find it."""
        assert self._server is not None
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{self._path}"

    def cut(self) -> None:
        """End all connections and refuse new ones."""
        self._is_open = False
        self._close_all()

    def mend(self) -> None:
        """Let everything through again."""
        self._is_open = True
        self._is_moving.set()

    def hang(self) -> None:
        """Take what clients send, and answer nothing."""
        self._is_moving.clear()

    def lose_reply(self) -> None:
        """Pass the next command on, and end its connection in place of its reply."""
        self._loses_replies = True

    def _close_all(self) -> None:
        for writer in self._writers:
            writer.close()

    async def _connect(self, client: asyncio.StreamReader, replies: asyncio.StreamWriter) -> None:
        if not self._is_open:
            replies.close()
            return
        server, commands = await asyncio.open_connection(self._host, self._port)
        self._writers |= {replies, commands}
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(self._pass_on(client, commands), self._pass_back(server, replies))

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            await self._is_moving.wait()
            sink.write(data)
        sink.close()

    async def _pass_back(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if self._loses_replies:
                self._loses_replies = False
                break
            await self._is_moving.wait()
            sink.write(data)
        sink.close()
