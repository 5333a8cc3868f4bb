"""NATS with JetStream, its store in the data folder."""

import json
import secrets
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

from embedded.processes import Launcher

PING_TIMEOUT = 1.0
# Bytes that streams may take in memory and on disk, and a message may have.
MAX_MEMORY = 256 * 1024**2
MAX_FILE = 4 * 1024**3
MAX_PAYLOAD = 1024**2


class NatsServer:
    """How the NATS server is started and asked whether it is ready."""

    name = "nats"
    stop_signal = signal.SIGTERM
    private_folder = None

    def __init__(self, folder: Path, binary: Path) -> None:
        self._folder = folder
        self._binary = binary
        # New at each start, so that a ping can't take somebody else's server for this one.
        self._server_name = f"citewire-{secrets.token_hex(4)}"

    def prepare(self, launcher: Launcher, logs: Path) -> None:  # noqa: ARG002 - needs no other program
        """Make the folder."""
        self._folder.mkdir(mode=0o700, exist_ok=True)

    def command(self, port: int) -> Sequence[str]:
        """Write the configuration for the port and return the command line that reads it."""
        config = {
            "server_name": self._server_name,
            "host": "127.0.0.1",
            "port": port,
            "max_payload": MAX_PAYLOAD,
            "jetstream": {"store_dir": str(self._folder), "max_memory_store": MAX_MEMORY, "max_file_store": MAX_FILE},
        }
        path = self._folder / "nats.conf"
        # The server's format contains JSON, but for the \u escapes.
        path.write_text(json.dumps(config, indent=2, ensure_ascii=False), encoding="utf-8")
        return [str(self._binary), "--config", str(path)]

    def answers(self, port: int, process: int) -> bool:  # noqa: ARG002 - told by its name, not by its process
        """Whether this server answers PING with PONG; raises OSError as long as nothing listens."""
        with socket.create_connection(("127.0.0.1", port), PING_TIMEOUT) as connection:
            connection.sendall(b'CONNECT {"verbose":false}\r\nPING\r\n')
            with connection.makefile("rb") as replies:
                info, pong = replies.readline(), replies.readline()
        return self._server_name.encode() in info and pong == b"PONG\r\n"

    def url(self, port: int) -> str:
        """Where clients find the server."""
        return f"nats://127.0.0.1:{port}"
