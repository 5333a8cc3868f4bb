"""A whole local stack for end-to-end tests: `citewire up` in a folder of its own, as a user would start it."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from embedded.nats_users import ADMINISTRATOR, kept_passwords, urls_by_user

START_TIMEOUT = 90.0
# Many tests ask as one user.
NO_LIMITS = {"CITEWIRE_GATEWAY_QUESTIONS_PER_MINUTE": "0", "CITEWIRE_GATEWAY_RUNNING_PER_USER": "0"}


@dataclass(frozen=True)
class Stack:
    """A running stack."""

    base_url: str
    admin_key: str
    data_dir: Path
    process: subprocess.Popen[str]

    def client(self, key: str | None = None) -> httpx.Client:
        """An HTTP client with a key, the administrator's by default."""
        headers = {"Authorization": f"Bearer {key or self.admin_key}"}
        return httpx.Client(base_url=self.base_url, headers=headers, timeout=60)

    def use_words_alone(self) -> None:
        """Search the samples without vectors: making them takes half a minute of a processor."""
        with self.client() as client:
            for kb_id in ("handbook", "baike"):
                client.patch(f"/v1/kbs/{kb_id}", json={"embedder": "none"}).raise_for_status()

    def nats_url(self, user: str = ADMINISTRATOR) -> str:
        """Where a user of its NATS server reaches it, by default the one who may do everything."""
        log = (self.data_dir / "logs" / "nats.log").read_text(encoding="utf-8")
        found = re.search(r"Listening for client connections on (\S+)", log)
        assert found is not None
        return urls_by_user(f"nats://{found.group(1)}", kept_passwords(self.data_dir / "nats"))[user]


@contextlib.contextmanager
def running_stack(data_dir: Path, *options: str, is_at_usual_port: bool = False, **settings: str) -> Iterator[Stack]:
    """Start a stack and stop it as Ctrl-C does."""
    # Two that start at the same moment may both find the usual port free.
    port = {} if is_at_usual_port else {"CITEWIRE_GATEWAY_PORT": str(_free_port())}
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("citewire")), "up", *options],
        env={**os.environ, **NO_LIMITS, "CITEWIRE_DATA_DIR": str(data_dir), **port, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_for_line(process, "citewire is running")
        yield Stack(
            (data_dir / "url").read_text(encoding="ascii"),
            (data_dir / "admin.key").read_text(encoding="ascii").strip(),
            data_dir,
            process,
        )
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(40)
        if process.stdout:
            process.stdout.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_line(process: "subprocess.Popen[str]", text: str) -> str:
    """Read a process' output up to the line that has `text`; all that was read."""
    assert process.stdout is not None
    deadline, read = time.monotonic() + START_TIMEOUT, ""
    while text not in read:
        line = process.stdout.readline()
        if not line or time.monotonic() > deadline:
            raise AssertionError(f"no line with {text!r}:\n{read}")
        read += line
    return read
