"""Servers that a test kills, pauses and starts again, each on the same port and folder all the time."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from embedded.binaries import nats_binary, postgres_folder, redis_binary
from embedded.postgres_server import PostgresServer
from embedded.processes import Launcher, Server, new_log, watched
from embedded.valkey_server import ValkeyServer

START_TIMEOUT = 30.0


class PlainNats:
    """A NATS server with JetStream that lets everybody in."""

    name = "nats"
    stop_signal = signal.SIGTERM
    private_folder = None
    environment: Mapping[str, str] = {}

    def __init__(self, folder: Path, binary: Path) -> None:
        self._folder = folder
        self._binary = binary

    def prepare(self, launcher: Launcher, logs: Path) -> None:
        """Make the folder."""
        self._folder.mkdir(exist_ok=True)

    def command(self, port: int) -> Sequence[str]:
        """The command line."""
        return [str(self._binary), "-js", "-sd", str(self._folder), "-a", "127.0.0.1", "-p", str(port)]

    def answers(self, port: int, process: int) -> bool:
        """Whether it answers PING with PONG; raises OSError as long as nothing listens."""
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.sendall(b'CONNECT {"verbose":false}\r\nPING\r\n')
            with connection.makefile("rb") as replies:
                replies.readline()
                return replies.readline() == b"PONG\r\n"

    def url(self, port: int) -> str:
        """Where clients find it."""
        return f"nats://127.0.0.1:{port}"


class Restartable:
    """One server; its `url` stays the same whatever happens to it."""

    def __init__(self, server: Server, launcher: Launcher, logs: Path) -> None:
        self._server = server
        self._launcher = launcher
        self._logs = logs
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where clients find it, secrets included; known once it has started."""
        return self._server.url(self._port)

    def start(self) -> None:
        """Start it and return once it answers."""
        self._server.prepare(self._launcher, self._logs)
        with new_log(self._logs / f"{self._server.name}.log") as log:
            self._process = self._launcher.start(
                self._server.command(self._port),
                log,
                self._server.stop_signal,
                self._server.private_folder,
                environment=self._server.environment,
            )
        deadline = time.monotonic() + START_TIMEOUT
        while not self._answers(self._process.pid):
            assert self._process.poll() is None, f"the {self._server.name} server ended"
            assert time.monotonic() < deadline, f"the {self._server.name} server does not answer"
            time.sleep(0.01)

    def kill(self) -> None:
        """End it as a crash of its machine does: all of its processes at once, and without a word."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._launcher.ended(self._process)
            self._process = None

    def restart(self, away: float = 0.0) -> None:
        """Kill it, and start it again after so many seconds."""
        self.kill()
        time.sleep(away)
        self.start()

    def pause(self) -> None:
        """Stop its clock, and return once it stands still: connections stay open and nothing answers."""
        self._signal(signal.SIGSTOP)
        assert self._process is not None
        process = psutil.Process(self._process.pid)
        while process.status() != psutil.STATUS_STOPPED:
            time.sleep(0.001)

    def resume(self) -> None:
        """Let it go on where it was paused."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        # The parent first: it must not see its children end and start others.
        for pid in (self._process.pid, *_descendants(self._process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _answers(self, pid: int) -> bool:
        try:
            return self._server.answers(self._port, pid)
        except OSError:
            return False


@dataclass(frozen=True)
class RestartableServers:
    """The three servers of a stack."""

    nats: Restartable
    redis: Restartable
    postgres: Restartable


@contextlib.contextmanager
def restartable_nats(folder: Path) -> Iterator[Restartable]:
    """A NATS server, started, for as long as the block lasts."""
    with watched() as launcher, _running(PlainNats(folder / "nats", nats_binary(None)), launcher, folder) as nats:
        yield nats


@contextlib.contextmanager
def restartable_redis(folder: Path) -> Iterator[Restartable]:
    """A Valkey server, started, for as long as the block lasts; a restart empties it."""
    with (
        watched() as launcher,
        _running(ValkeyServer(folder / "valkey", redis_binary(None)), launcher, folder) as redis,
    ):
        yield redis


@contextlib.contextmanager
def restartable_postgres(folder: Path) -> Iterator[Restartable]:
    """A Postgres server, started, for as long as the block lasts."""
    server = PostgresServer(folder / "postgres", postgres_folder(None))
    with watched() as launcher, _running(server, launcher, folder) as postgres:
        yield postgres


@contextlib.contextmanager
def restartable_servers(folder: Path) -> Iterator[RestartableServers]:
    """All three, started, for as long as the block lasts."""
    with (
        restartable_nats(folder) as nats,
        restartable_redis(folder) as redis,
        restartable_postgres(folder) as postgres,
    ):
        yield RestartableServers(nats, redis, postgres)


@contextlib.contextmanager
def _running(server: Server, launcher: Launcher, folder: Path) -> Iterator[Restartable]:
    running = Restartable(server, launcher, folder / "logs")
    try:
        running.start()
        yield running
    finally:
        running.kill()


def free_port() -> int:
    """A port of the loopback interface that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _descendants(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
