"""Child processes under watch: started, asked whether they answer, stopped; none outlives this process."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from embedded import launcher as launcher_script
from embedded import watcher as watcher_script
from embedded.errors import EmbeddedError
from embedded.nats_users import VARIABLE as PASSWORD

# Seconds for the longest recovery after a crash that is worth waiting for.
START_TIMEOUT = 60.0
POLL_INTERVAL = 0.005
# A free port may be somebody else's by the time the server takes it.
PORT_ATTEMPTS = 5
LOG_TAIL_LINES = 15


@dataclass(frozen=True)
class Launcher:
    """Starts child processes that end with this one. Made by `watched`."""

    watch: int
    inherited: tuple[int, ...]

    def start(  # noqa: PLR0913 - as `Popen` has them
        self,
        command: Sequence[str],
        log: IO[bytes],
        stop_signal: signal.Signals = signal.SIGTERM,
        private_folder: Path | None = None,
        *,
        stdin: int = subprocess.DEVNULL,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a program in `/`, in a session of its own: Ctrl-C must not end it before its clients.

        `environment` comes on top of this process' own.
        """
        script = _script(launcher_script.__file__)
        return subprocess.Popen(  # noqa: S603 - a server binary
            [*script, str(self.watch), str(int(stop_signal)), str(private_folder or ""), *command],
            stdin=stdin,
            stdout=log,
            stderr=log,
            cwd="/",
            env=_environment() | dict(environment or {}),
            start_new_session=True,
            pass_fds=(self.watch, *self.inherited),
        )

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        """Take a process that has been waited for off the watch: its id may be another's soon."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.watch, f"{process.pid} 0\n".encode())


@contextlib.contextmanager
def watched(*inherited: int) -> Iterator[Launcher]:
    """Start a watcher that stops what the launcher started as soon as this process is gone, even by SIGKILL.

    `inherited` are file descriptors that the children, and not the watcher, hold open as long as they run.
    One pipe does it on every system; a parent-death signal is Linux only, and comes when the starting *thread* ends.
    """
    with subprocess.Popen(  # noqa: S603 - a script of ours
        _script(watcher_script.__file__), stdin=subprocess.PIPE, cwd="/", start_new_session=True
    ) as process:
        if process.stdin:
            yield Launcher(process.stdin.fileno(), inherited)


class Server(Protocol):
    """How one kind of server is set up, started and spoken to."""

    name: str
    stop_signal: signal.Signals

    @property
    def environment(self) -> Mapping[str, str]:
        """What the server alone finds in its environment."""
        ...

    @property
    def private_folder(self) -> Path | None:
        """Where the server keeps its data if it refuses to run as root."""
        ...

    def prepare(self, launcher: Launcher, logs: Path) -> None:
        """Make what the server needs in the data folder; raises EmbeddedError where that fails."""
        ...

    def command(self, port: int) -> Sequence[str]:
        """The command line that serves on a port of the loopback interface, in the foreground."""
        ...

    def answers(self, port: int, process: int) -> bool:
        """Whether this very server answers a ping on the port; raises OSError as long as nothing listens."""
        ...

    def url(self, port: int) -> str:
        """Where clients find the server, secrets included."""
        ...


class ServerProcess:
    """A server from launch to stop; a port that was taken in between is replaced by another."""

    def __init__(self, server: Server, launcher: Launcher, logs: Path) -> None:
        self._server = server
        self._log = logs / f"{server.name}.log"
        self._launcher = launcher
        self._launch()

    def _launch(self) -> None:
        server = self._server
        self._port = _free_port()
        with new_log(self._log) as log:
            self._process = self._launcher.start(
                server.command(self._port),
                log,
                server.stop_signal,
                server.private_folder,
                environment=server.environment,
            )

    def wait_until_ready(self) -> str:
        """Return the server's URL once it answers; raises EmbeddedError with the end of its log where it never does."""
        deadline = time.monotonic() + START_TIMEOUT
        attempts = 1
        while not self._answers():
            if self._has_ended():
                self._check_port_was_taken(attempts)
                attempts += 1
                self._launch()
            elif time.monotonic() > deadline:
                raise self._failure(f"did not answer within {START_TIMEOUT:.0f} s")
            time.sleep(POLL_INTERVAL)
        return self._server.url(self._port)

    def stop(self) -> None:
        """Ask the server to end, wait, and kill it where that takes longer than the grace."""
        self._process.send_signal(self._server.stop_signal)
        try:
            self._process.wait(watcher_script.GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._launcher.ended(self._process)

    def _answers(self) -> bool:
        try:
            return self._server.answers(self._port, self._process.pid)
        except OSError:
            return False

    def _has_ended(self) -> bool:
        if self._process.poll() is None:
            return False
        self._launcher.ended(self._process)
        return True

    def _check_port_was_taken(self, attempts: int) -> None:
        log = self._log.read_bytes().lower()
        if attempts == PORT_ATTEMPTS or b"address already in use" not in log:
            raise self._failure(f"ended with code {self._process.returncode}")

    def _failure(self, what: str) -> EmbeddedError:
        return failure(f"The {self._server.name} server {what}", self._log)


def new_log(path: Path) -> IO[bytes]:
    """Open an empty log; the one of the start before stays beside it as `….log.1`."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        path.replace(path.with_suffix(".log.1"))
    return path.open("wb")


def failure(what: str, log: Path) -> EmbeddedError:
    """The error for a program that failed, with the last lines of its log."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL_LINES:]
    return EmbeddedError("\n  ".join([f"{what}; the end of {log}:", *lines]))


def _script(path: str) -> list[str]:
    # Isolated and without site packages: the scripts need neither, and start in half the time.
    return [sys.executable, "-I", "-S", path]


def _environment() -> dict[str, str]:
    """This process' environment in English, without Postgres' defaults, and without passwords for everybody."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PG", PASSWORD))}
    return inherited | {"LC_ALL": "C.UTF-8"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
