"""A NATS server of a test's own, which it may stop and start again on the same port and store."""

import socket
import subprocess
import time
from pathlib import Path

from embedded.binaries import nats_binary

START_TIMEOUT = 10.0


class OwnNats:
    """The server; `url` stays the same over restarts."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"nats://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the server and return once it listens."""
        options = ["-js", "-sd", str(self._folder), "-a", "127.0.0.1", "-p", str(self._port)]
        self._process = subprocess.Popen([str(nats_binary(None)), *options], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + START_TIMEOUT
        while not self._listens():
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.01)

    def kill(self) -> None:
        """End the server as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        return True
