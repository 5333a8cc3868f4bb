"""NATS with JetStream, its store in the data folder, its users those of `nats.conf`."""

import json
import secrets
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from embedded.nats_users import ADMINISTRATOR, as_variables, keep_passwords, urls_by_user
from embedded.processes import Launcher

PING_TIMEOUT = 1.0
CONFIGURATION = "nats.conf"
# Other services than our own, which whoever runs the stack may add to.
SERVICES = "services.conf"


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
        self._passwords: dict[str, str] = {}

    @property
    def environment(self) -> Mapping[str, str]:
        """The passwords, under the names by which the configuration asks for them."""
        return as_variables(self._passwords)

    def prepare(self, launcher: Launcher, logs: Path) -> None:  # noqa: ARG002 - needs no other program
        """Make the folder with the configuration and a password for each user."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        configuration, services = self._folder / CONFIGURATION, self._folder / SERVICES
        configuration.write_bytes(_shipped(CONFIGURATION).read_bytes())
        if not services.exists():
            services.write_bytes(_shipped(SERVICES).read_bytes())
        texts = (file.read_text(encoding="utf-8") for file in (configuration, services))
        self._passwords = keep_passwords(self._folder, *texts)

    def command(self, port: int) -> Sequence[str]:
        """The command line: what the configuration leaves open."""
        options = {
            "config": str(self._folder / CONFIGURATION),
            "name": self._server_name,
            "addr": "127.0.0.1",
            "port": str(port),
            "store_dir": str(self._folder),
        }
        return [str(self._binary), *(part for name, value in options.items() for part in (f"--{name}", value))]

    def answers(self, port: int, process: int) -> bool:  # noqa: ARG002 - told by its name, not by its process
        """Whether this server answers PING with PONG; raises OSError as long as nothing listens."""
        login = {"user": ADMINISTRATOR, "pass": self._passwords[ADMINISTRATOR], "verbose": False}
        with (
            socket.create_connection(("127.0.0.1", port), PING_TIMEOUT) as connection,
            connection.makefile("rb") as replies,
        ):
            if self._server_name.encode() not in replies.readline():
                return False
            connection.sendall(b"CONNECT %b\r\nPING\r\n" % json.dumps(login).encode())
            return replies.readline() == b"PONG\r\n"

    def url(self, port: int) -> str:
        """Where clients that may do everything find the server."""
        return urls_by_user(f"nats://127.0.0.1:{port}", self._passwords)[ADMINISTRATOR]


def _shipped(name: str) -> Path:
    """A file of `deploy/`: in a wheel it lies in this package, in the source tree beside it."""
    package = Path(__file__).parent
    return next(file for file in (package / name, package.parent / name) if file.exists())
