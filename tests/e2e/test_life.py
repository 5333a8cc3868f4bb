"""Starting, stopping, and dying: what a stack leaves behind, and what it survives."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from frames import ask
from gateway.settings import Settings as GatewaySettings
from stack import Stack, running_stack

BOOKING = "How far ahead should a trip be booked?"


def wait_until(check: Callable[[], bool], timeout: float = 30.0) -> None:
    deadline = time.monotonic() + timeout
    while not check():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data folder for this file: the first test loads the samples, the others start on them."""
    return tmp_path_factory.mktemp("life") / "data"


def test_ctrl_c_leaves_no_process_behind(data_dir: Path) -> None:
    with running_stack(data_dir) as stack:
        started = psutil.Process(stack.process.pid).children(recursive=True)
        assert len(started) >= 4

    assert stack.process.returncode == 0
    # What embeds ends when it finds its last client gone.
    wait_until(lambda: not any(process.is_running() for process in started), timeout=5)


def test_a_second_start_knows_what_was_asked_before(data_dir: Path) -> None:
    with running_stack(data_dir) as stack, stack.client() as client:
        stack.use_words_alone()
        answer = ask(client, BOOKING, kb_ids=["handbook"])

    with running_stack(data_dir) as stack, stack.client() as client:
        stored = client.get(f"/v1/questions/{answer.question_id}").json()

    assert stored["model_response"]["content"] == answer.text


def test_kill_9_of_the_parent_leaves_no_process_behind(data_dir: Path) -> None:
    with running_stack(data_dir) as stack:
        started = psutil.Process(stack.process.pid).children(recursive=True)

        stack.process.kill()

        wait_until(lambda: not any(process.is_running() for process in started))


def test_a_port_that_is_taken_is_avoided(data_dir: Path) -> None:
    usual = GatewaySettings.model_fields["port"].default
    with contextlib.ExitStack() as stack:
        # Whoever has the usual port, this test or another stack: it is taken.
        with contextlib.suppress(OSError):
            stack.enter_context(socket.create_server(("127.0.0.1", usual)))
        running = stack.enter_context(running_stack(data_dir, is_at_usual_port=True))

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
    with running_stack(data_dir, "--services") as stack, stack.client() as client:
        roles = [" ".join(process.cmdline()) for process in psutil.Process(stack.process.pid).children(recursive=True)]
        answer = ask(client, BOOKING, kb_ids=["handbook"])

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
