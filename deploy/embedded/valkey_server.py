"""Valkey (or Redis) that keeps everything in memory: what it holds lives for minutes."""

import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from embedded.processes import Launcher

PING_TIMEOUT = 1.0


class ValkeyServer:
    """How the Valkey server is started and asked whether it is ready."""

    name = "valkey"
    stop_signal = signal.SIGTERM
    private_folder = None
    environment: Mapping[str, str] = {}

    def __init__(self, folder: Path, binary: Path) -> None:
        self._folder = folder
        self._binary = binary

    def prepare(self, launcher: Launcher, logs: Path) -> None:  # noqa: ARG002 - needs no other program
        """Make the folder."""
        self._folder.mkdir(mode=0o700, exist_ok=True)

    def command(self, port: int) -> Sequence[str]:
        """The command line; a full memory refuses writes, for a frame that was dropped would be a gap in an answer."""
        options = {
            "bind": "127.0.0.1",
            "port": str(port),
            "dir": str(self._folder),
            "save": "",
            "appendonly": "no",
            "maxmemory": "256mb",
            "maxmemory-policy": "noeviction",
        }
        return [str(self._binary), *(part for name, value in options.items() for part in (f"--{name}", value))]

    def answers(self, port: int, process: int) -> bool:
        """Whether this process answers a command; raises OSError as long as nothing listens."""
        with socket.create_connection(("127.0.0.1", port), PING_TIMEOUT) as connection:
            connection.sendall(b"PING\r\nINFO server\r\nQUIT\r\n")
            with connection.makefile("rb") as replies:
                reply = replies.read()
        return reply.startswith(b"+PONG") and f"\r\nprocess_id:{process}\r\n".encode() in reply

    def url(self, port: int) -> str:
        """Where clients find the server."""
        return f"redis://127.0.0.1:{port}/0"
