"""Another service asks with its own credentials and nothing of ours, of a stack whose roles have their own, too."""

import asyncio
import json
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import jsonschema
import nats
import psutil
import pytest

from citewire.runtime.settings import ROLES
from frames import ask
from model_questions import KB, QUESTION, fill
from stack import Stack, running_stack

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ask_over_nats.py"


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("services") / "data", "--services", "--no-samples") as stack:
        fill(stack)
        yield stack


def run_example(stack: Stack, question: str, kb_id: str) -> tuple[int, dict[str, Any]]:
    """Exit code and printed outcome."""
    result = subprocess.run(
        # Isolated and without site packages: the standard library is all that it has.
        [sys.executable, "-I", "-S", str(EXAMPLE), stack.nats_url("shop"), question, kb_id],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert not result.stderr
    return result.returncode, json.loads(result.stdout)


def check(message: dict[str, Any], name: str) -> None:
    """Raises ValidationError for what is not as the contract's schema says."""
    schema = json.loads((ROOT / "tests" / "contract" / "snapshots" / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.validate(message, schema)


def test_the_example_gets_its_finished_interaction(services: Stack) -> None:
    code, outcome = run_example(services, QUESTION, KB)

    assert code == 0
    check(outcome, "InteractionFinished")
    assert outcome["user"]["user_id"] == "service:shop"
    assert outcome["interaction"]["status"] == "finished"
    assert outcome["interaction"]["model_response"]["citations"][0]["quotes"][0]["verdict"] == "exact"


@pytest.mark.parametrize(
    ("question", "kb_id", "status"), [("What is this?", "nowhere", 404), ("", KB, 422)], ids=["scope", "text"]
)
def test_b06_the_example_gets_the_reason_why_its_question_was_rejected(
    services: Stack, question: str, kb_id: str, status: int
) -> None:
    code, rejection = run_example(services, question, kb_id)

    assert code == 1
    check(rejection, "QuestionRejected")
    assert rejection["problem"]["status"] == status


def test_what_the_example_asks_is_as_the_schema_says() -> None:
    question = runpy.run_path(str(EXAMPLE))["question_asked"]("shop", "Why?", ["handbook"])

    check(question, "QuestionAsked")


def test_a_role_knows_its_own_password_and_no_other(services: Stack) -> None:
    passwords = {user: urlsplit(services.nats_url(user)).password for user in (*ROLES, "citewire", "shop")}
    processes = [
        process
        for process in psutil.Process(services.process.pid).children(recursive=True)
        if "citewire.runtime.process" in process.cmdline()
    ]

    known = {process.cmdline()[-1]: " ".join(process.environ().values()) for process in processes}

    assert {
        role: [user for user, password in passwords.items() if str(password) in environment]
        for role, environment in known.items()
    } == {role: [role] for role in ROLES}


def test_no_role_lacks_a_permission(services: Stack) -> None:
    asyncio.run(publish_poison(services.nats_url()))
    with services.client() as client:
        use_everything(client)
    run_example(services, QUESTION, KB)

    log = (services.data_dir / "logs" / "nats.log").read_text(encoding="utf-8")

    assert [line for line in log.splitlines() if "Violation" in line] == []


async def publish_poison(url: str) -> None:
    """A message for each role that consumes, which it sets aside."""
    client = await nats.connect(url)
    for subject in (
        "qa.v1.question.asked.web",
        "qa.v1.retrieval.requested.default.handbook",
        "qa.v1.retrieval.planned",
        "qa.v1.interaction.finished.web",
    ):
        await client.jetstream().publish(subject, b"{bad json", timeout=5)
    await client.close()


def use_everything(client: httpx.Client) -> None:
    """What people do, once each; raises HTTPStatusError where that fails."""
    key = client.post("/v1/keys", json={"user": "anna"}).raise_for_status().json()
    here = str(client.base_url).rstrip("/")
    httpx.post(f"{here}/v1/sign-in", json={"key": key["key"]}, headers={"Origin": here}).raise_for_status()
    client.delete(f"/v1/keys/{key['entry']['key_id']}").raise_for_status()
    client.post("/v1/kbs", json={"kb_id": "own", "title": "Own"}).raise_for_status()
    client.patch("/v1/kbs/own", json={"title": "Ours"}).raise_for_status()
    upload = client.post("/v1/kbs/own/documents", files={"file": ("sky.txt", b"The sky is grey. It rains.")})
    document = f"/v1/kbs/own/documents/{upload.raise_for_status().json()['doc_id']}"
    wait_until(lambda: client.get(document).json()["status"] in {"indexed", "embedded"})
    client.post("/v1/kbs/own/search", json={"query": "sky"}).raise_for_status()
    answer = ask(client, "Is the sky grey?", kb_ids=["own"])
    client.post(f"/v1/questions/{answer.done['question_id']}/stop").raise_for_status()
    client.get("/v1/sessions").raise_for_status()
    client.delete(f"/v1/sessions/{answer.done['session_id']}").raise_for_status()
    client.delete(document).raise_for_status()
    client.delete("/v1/kbs/own").raise_for_status()
    # The question is set aside by both of its consumers.
    wait_until(lambda: len(client.get("/v1/dead-letters").json()["letters"]) >= 5)
    for letter in client.get("/v1/dead-letters").json()["letters"]:
        assert client.post(f"/v1/dead-letters/{letter['sequence']}/retry").status_code == 409
        client.delete(f"/v1/dead-letters/{letter['sequence']}").raise_for_status()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
