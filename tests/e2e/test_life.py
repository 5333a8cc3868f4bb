"""Starting, stopping, and dying: what a stack leaves behind, and what it survives."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import psutil
import pytest

from documents import upload
from frames import Answer, ask
from gateway.settings import Settings as GatewaySettings
from model_questions import KB, QUESTION, fill
from stack import Stack, running_stack

BOOKING = "How far ahead should a trip be booked?"


def wait_until(check: Callable[[], bool], timeout: float = 30.0) -> None:
    deadline = time.monotonic() + timeout
    while not check():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data folder for this file: each start but the first finds what those before it left."""
    return tmp_path_factory.mktemp("life") / "data"


@contextlib.contextmanager
def filled_stack(data_dir: Path, *options: str) -> Iterator[Stack]:
    """A stack with one small knowledge base: who does not ask for samples need not wait for them."""
    with running_stack(data_dir, "--no-samples", *options) as stack:
        with stack.client() as client:
            if client.get(f"/v1/kbs/{KB}").status_code == HTTPStatus.NOT_FOUND:
                fill(stack)
        yield stack


def processes_of(stack: Stack) -> list[psutil.Process]:
    return psutil.Process(stack.process.pid).children(recursive=True)


def begin_to_embed(stack: Stack) -> None:
    """Have a document of its own read and embedded; returns when its process is there."""
    with stack.client() as client:
        client.post("/v1/kbs", json={"kb_id": "embedded", "title": "Embedded"}).raise_for_status()
        upload(client, "embedded", "sky.txt", b"The sky is grey.")
    wait_until(lambda: any("retriever.embedding.server" in process.cmdline() for process in processes_of(stack)))


@dataclass(frozen=True)
class FirstRun:
    """A stack that has ended, its processes while it ran, and what it answered."""

    stack: Stack
    processes: list[psutil.Process]
    answer: Answer


@pytest.fixture(scope="module")
def first_run(data_dir: Path) -> FirstRun:
    with filled_stack(data_dir) as stack, stack.client() as client:
        answer = ask(client, QUESTION, kb_ids=[KB])
        begin_to_embed(stack)
        processes = processes_of(stack)
    return FirstRun(stack, processes, answer)


def test_ctrl_c_leaves_no_process_behind(first_run: FirstRun) -> None:
    assert first_run.stack.process.returncode == 0
    # What embeds ends when it finds its last client gone.
    wait_until(lambda: not any(process.is_running() for process in first_run.processes), timeout=5)


def test_a_second_start_knows_what_was_asked_before(first_run: FirstRun, data_dir: Path) -> None:
    with filled_stack(data_dir) as stack, stack.client() as client:
        stored = client.get(f"/v1/questions/{first_run.answer.question_id}").json()

    assert stored["model_response"]["content"] == first_run.answer.text


def test_kill_9_of_the_parent_leaves_no_process_behind(data_dir: Path) -> None:
    with filled_stack(data_dir) as stack:
        started = processes_of(stack)

        stack.process.kill()

        wait_until(lambda: not any(process.is_running() for process in started))


def test_a_port_that_is_taken_is_avoided(data_dir: Path) -> None:
    usual = GatewaySettings.model_fields["port"].default
    with contextlib.ExitStack() as stack:
        # Whoever has the usual port, this test or another stack: it is taken.
        with contextlib.suppress(OSError):
            stack.enter_context(socket.create_server(("127.0.0.1", usual)))
        running = stack.enter_context(running_stack(data_dir, "--no-samples", is_at_usual_port=True))

        assert not running.base_url.endswith(f":{usual}")


def test_a_taken_port_that_was_asked_for_is_named_with_its_setting(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        result = subprocess.run(
            [str(Path(sys.executable).with_name("citewire")), "up"],
            env={**os.environ, "CITEWIRE_DATA_DIR": str(data_dir), "CITEWIRE_GATEWAY_PORT": taken},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert result.returncode == 1
    assert "CITEWIRE_GATEWAY_PORT" in result.stderr


def test_one_process_per_role_answers_the_same(data_dir: Path) -> None:
    with filled_stack(data_dir, "--services") as stack, stack.client() as client:
        roles = [" ".join(process.cmdline()) for process in processes_of(stack)]
        answer = ask(client, QUESTION, kb_ids=[KB])

    assert sum("citewire.runtime.process" in role for role in roles) == 5
    assert answer.done["persisted"] is True


def test_the_command_line_asks_and_numbers_its_sources(stack: Stack) -> None:
    result = subprocess.run(
        [str(Path(sys.executable).with_name("citewire")), "ask", BOOKING, "--kb", "handbook"],
        env={**os.environ, "CITEWIRE_DATA_DIR": str(stack.data_dir)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "[1]" in result.stdout
    assert "✓ proved" in result.stdout
