"""What `citewire up` does with its services once they run: wait until they answer, and load the samples."""

import contextlib
import time
from pathlib import Path

from citewire.cli.client import Client, ServiceProblem
from embedded.errors import EmbeddedError
from embedded.roles import RoleProcesses
from embedded.samples import load_samples

READY_TIMEOUT = 60.0
POLL_INTERVAL = 0.05


def take_first_steps(url: str, key: str, roles: RoleProcesses, samples_marker: Path | None) -> None:
    """Return when everything is ready; `samples_marker` notes that the samples were loaded once (None: never)."""
    with Client(url, key) as client:
        _wait_until_ready(client, roles)
        if samples_marker is not None:
            try:
                _load_samples_once(client, samples_marker)
            except ServiceProblem as problem:
                raise EmbeddedError(str(problem)) from problem


def _wait_until_ready(client: Client, roles: RoleProcesses) -> None:
    """Return once our own gateway, which knows the key, and both owners of data answer."""
    deadline = time.monotonic() + READY_TIMEOUT
    for probe in ("/v1/me", "/readyz", "/readyz/owners"):
        while not _answers(client, probe):
            roles.check()
            if time.monotonic() > deadline:
                raise EmbeddedError(f"The services did not get ready within {READY_TIMEOUT:.0f} s.")
            time.sleep(POLL_INTERVAL)


def _answers(client: Client, path: str) -> bool:
    with contextlib.suppress(ServiceProblem):
        client.call("GET", path)
        return True
    return False


def _load_samples_once(client: Client, marker: Path) -> None:
    """Load samples at the first start only: who removes them does not want them back."""
    if not marker.exists():
        load_samples(client)
        marker.touch()
