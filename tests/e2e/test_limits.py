"""What one user may ask, as users meet it: a stack of its own with low limits."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from documents import upload
from frames import ask, follow
from stack import Stack, running_stack

KB = "moons"
QUESTION = "How many moons does Mars have?"
BURST, RUNNING = 4, 3
FLOOD = 200
# Seconds: the flood's own client takes part of the machine as well.
SLACK = 2.0


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack where a user may ask one question per minute, after the first few."""
    with running_stack(
        tmp_path_factory.mktemp("limited") / "data",
        "--no-samples",
        CITEWIRE_GATEWAY_QUESTIONS_PER_MINUTE="1",
        CITEWIRE_GATEWAY_QUESTIONS_BURST=str(BURST),
        CITEWIRE_GATEWAY_RUNNING_PER_USER=str(RUNNING),
    ) as running:
        with running.client() as admin:
            admin.post("/v1/kbs", json={"kb_id": KB, "title": "Moons", "embedder": "none"})
            upload(admin, KB, "mars.md", b"# Moons\n\nMars has two moons, Phobos and Deimos.\n")
        yield running


def new_key(stack: Stack, user: str) -> str:
    with stack.client() as admin:
        return str(admin.post("/v1/keys", json={"user": user}).json()["key"])


@pytest.fixture
def client(limited: Stack, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A client of a user of the test's own."""
    with limited.client(new_key(limited, f"user of {request.node.name}"[:100])) as client:
        yield client


def post(client: httpx.Client, key: str = "") -> httpx.Response:
    """Ask, and read the whole response, whatever it is."""
    headers = {"Idempotency-Key": key} if key else {}
    return client.post("/v1/questions", json={"question": QUESTION, "kb_ids": [KB]}, headers=headers)


def test_j02_a_question_too_many_is_429_with_retry_after_and_no_stream(client: httpx.Client) -> None:
    accepted = [post(client) for _ in range(BURST)]

    refused = post(client)

    assert {response.status_code for response in accepted} == {200}
    assert refused.status_code == 429
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert 1 <= int(refused.headers["Retry-After"]) == refused.json()["retry_after"] <= 60


def test_a13_a_retry_with_its_key_attaches_where_a_new_question_is_429(client: httpx.Client) -> None:
    first = ask(client, QUESTION, kb_ids=[KB], headers={"Idempotency-Key": "mine"})
    while post(client).status_code == 200:
        pass

    again = ask(client, QUESTION, kb_ids=[KB], headers={"Idempotency-Key": "mine"})

    assert (again.question_id, again.text) == (first.question_id, first.text)


def test_a13_the_same_key_for_another_question_is_409_at_the_limit_as_well(client: httpx.Client) -> None:
    post(client, key="mine")
    while post(client).status_code == 200:
        pass

    other = client.post("/v1/questions", json={"question": "How?", "kb_ids": [KB]}, headers={"Idempotency-Key": "mine"})

    assert other.status_code == 409


def test_at_the_limit_an_answer_can_be_read_and_stopped(client: httpx.Client) -> None:
    question_id = post(client).headers["X-Question-Id"]
    while post(client).status_code == 200:
        pass

    assert follow(client, question_id).done["status"] == "finished"
    assert client.get(f"/v1/questions/{question_id}").status_code == 200
    assert client.post(f"/v1/questions/{question_id}/stop").status_code == 202


def seconds_to_answer(client: httpx.Client) -> float:
    """How long a user waits for a whole answer."""
    started = time.monotonic()
    assert ask(client, QUESTION, kb_ids=[KB]).done["status"] == "finished"
    return time.monotonic() - started


def test_j03_a_user_who_floods_delays_nobody_else(limited: Stack, client: httpx.Client) -> None:
    calm = seconds_to_answer(client)

    with limited.client(new_key(limited, "busy")) as busy, ThreadPoolExecutor(16) as pool:
        flood = [pool.submit(post, busy) for _ in range(FLOOD)]
        flooded = min(seconds_to_answer(client) for _ in range(2))
        statuses = Counter(future.result().status_code for future in flood)

    assert flooded < 5 * calm + SLACK
    assert statuses.keys() == {200, 429}
    assert statuses[200] <= BURST + 1


def test_the_command_line_says_when_to_try_again(limited: Stack, tmp_path: Path) -> None:
    key = new_key(limited, "at the command line")
    with limited.client(key) as client:
        while post(client).status_code == 200:
            pass

    result = subprocess.run(
        [str(Path(sys.executable).with_name("citewire")), "ask", QUESTION, "--kb", KB],
        env={**os.environ, "CITEWIRE_URL": limited.base_url, "CITEWIRE_KEY": key},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert result.returncode == 1
    assert "over the limit of 1 per minute; try again in" in " ".join((result.stdout + result.stderr).split())
