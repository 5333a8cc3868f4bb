"""Postgres with a cluster of its own in the data folder, open to whoever can read the password file there."""

import secrets
import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from embedded.binaries import version
from embedded.errors import EmbeddedError
from embedded.processes import Launcher, failure, new_log

PING_TIMEOUT = 1.0
USER = DATABASE = "citewire"
PROTOCOL_3_0 = 196608
OPTIONS = {
    "listen_addresses": "127.0.0.1",
    # The path of a socket may have about 100 bytes only, and the data folder may lie deep.
    "unix_socket_directories": "",
    # The index of 100,000 vectors has 121 MB, all over which each search reads. What is not used takes no memory.
    "shared_buffers": "256MB",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class PostgresServer:
    """How the Postgres server is set up, started and asked whether it is ready."""

    name = "postgres"
    # Fast shutdown: disconnects clients; SIGTERM would wait for them.
    stop_signal = signal.SIGINT
    environment: Mapping[str, str] = {}

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.private_folder = folder
        self._binaries = binaries

    @property
    def _cluster(self) -> Path:
        return self.private_folder / "data"

    def prepare(self, launcher: Launcher, logs: Path) -> None:
        """Make the cluster where there is none; raises EmbeddedError where it is of another major version."""
        if self.private_folder.exists():
            self._check_version()
            # A running server would hold the folder's lock: whoever left this file has gone, and its number may be
            # another program's by now, or a zombie's, which would make Postgres refuse to start.
            (self._cluster / "postmaster.pid").unlink(missing_ok=True)
        else:
            _create_cluster(self.private_folder, self._binaries, launcher, logs / "initdb.log")

    def _check_version(self) -> None:
        stored = (self._cluster / "PG_VERSION").read_text(encoding="ascii").strip()
        major, _ = version(self._binaries / "postgres")
        if stored != str(major):
            raise EmbeddedError(
                f"{self.private_folder} was made by Postgres {stored} and {self._binaries} has Postgres {major}: name "
                f"a Postgres {stored} in CITEWIRE_EMBEDDED_POSTGRES_BIN_DIR, or a new folder in CITEWIRE_DATA_DIR."
            )

    def command(self, port: int) -> Sequence[str]:
        """The command line; options given here win over the cluster's own configuration."""
        options = (f"--{name}={value}" for name, value in (OPTIONS | {"port": str(port)}).items())
        return [str(self._binaries / "postgres"), "-D", str(self._cluster), *options]

    def answers(self, port: int, process: int) -> bool:
        """Whether this process asks a client to log in; raises OSError as long as nothing listens.

        A server that is still recovering answers with an error instead.
        """
        body = struct.pack("!i", PROTOCOL_3_0) + f"user\0{USER}\0database\0{DATABASE}\0\0".encode()
        with socket.create_connection(("127.0.0.1", port), PING_TIMEOUT) as connection:
            connection.sendall(struct.pack("!i", len(body) + 4) + body)
            asks_for_password = connection.recv(1024).startswith(b"R")
        return asks_for_password and (self._cluster / "postmaster.pid").read_text(encoding="utf-8").startswith(
            f"{process}\n"
        )

    def url(self, port: int) -> str:
        """Where clients find the server, with the password."""
        password = (self.private_folder / "password").read_text(encoding="ascii")
        return f"postgresql://{USER}:{password}@127.0.0.1:{port}/{DATABASE}"


def _create_cluster(folder: Path, binaries: Path, launcher: Launcher, log: Path) -> None:
    """All or nothing: made beside its place and renamed, so that no start finds half a cluster."""
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    password = unfinished / "password"
    password.touch(mode=0o600)
    password.write_text(secrets.token_urlsafe(24), encoding="ascii")
    cluster = str(unfinished / "data")
    initdb = [
        *(str(binaries / "initdb"), "-D", cluster, "--username", USER, "--encoding", "UTF8", "--locale", "C.UTF-8"),
        *("--auth", "scram-sha-256", "--pwfile", str(password), "--no-instructions"),
    ]
    # Single-user mode needs no port and no log-in; each line of its input is a statement.
    single = [str(binaries / "postgres"), "--single", "-D", cluster, "-c", "exit_on_error=on", "postgres"]
    with new_log(log) as output:
        for command, statements in ((initdb, b""), (single, f"CREATE DATABASE {DATABASE}\n".encode())):
            process = launcher.start(command, output, private_folder=unfinished, stdin=subprocess.PIPE)
            process.communicate(statements)
            launcher.ended(process)
            if process.returncode:
                raise failure(f"{Path(command[0]).name} ended with code {process.returncode}", log)
    unfinished.rename(folder)
