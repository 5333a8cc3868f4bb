"""The service processes of a local stack: all roles in one, or one each; ended with the stack, however it ends."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from citewire.runtime.settings import ROLES
from embedded.processes import Launcher, failure, new_log, watched
from embedded.servers import ServerUrls

# Longer than a service's own grace for running work.
STOP_TIMEOUT = 20.0


@contextlib.contextmanager
def running_roles(urls: ServerUrls, *, is_split: bool, logs: Path) -> Iterator["RoleProcesses"]:
    """Start the roles; settings reach them through the environment, each one's own NATS user, too."""
    groups: Sequence[Sequence[str]] = [[role] for role in ROLES] if is_split else [ROLES]
    with watched() as launcher:
        roles = RoleProcesses(urls, launcher, logs)
        try:
            for group in groups:
                roles.start(group)
            yield roles
        finally:
            roles.stop()


class RoleProcesses:
    """Running service processes."""

    def __init__(self, urls: ServerUrls, launcher: Launcher, logs: Path) -> None:
        self._urls = urls
        self._launcher = launcher
        self._logs = logs
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, roles: Sequence[str]) -> None:
        """Start one process with some roles."""
        name = roles[0] if len(roles) == 1 else "services"
        command = [sys.executable, "-m", "citewire.runtime.process", *roles]
        with new_log(self._log_of(name)) as log:
            environment = {"CITEWIRE_NATS_URL": self._urls.nats_of(name)}
            self._processes[name] = self._launcher.start(command, log, signal.SIGTERM, environment=environment)

    def check(self) -> None:
        """Raises EmbeddedError with the end of its log when a process has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise failure(f"{name} ended with code {process.returncode}", self._log_of(name))

    def stop(self) -> None:
        """Ask all to end, wait for them, and kill what does not."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self._launcher.ended(process)

    def _log_of(self, name: str) -> Path:
        return self._logs / f"{name}.log"
