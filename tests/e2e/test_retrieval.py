"""Retrieval alone, as a user of HTTP and of the command line sees it."""

import subprocess
import sys
from pathlib import Path

import httpx

from documents import wait_until_embedded
from stack import Stack


def test_a_question_in_one_language_finds_its_answer_in_the_other(user: httpx.Client) -> None:
    wait_until_embedded(user, "handbook")

    reply = user.post("/v1/kbs/handbook/search", json={"query": "休假要提前多久告诉经理？"}).json()

    assert "PTO" in reply["segments"][0]["title"]
    assert {leg["leg"]: leg["hits"] > 0 for leg in reply["legs"]} == {"lexical": False, "dense": True}


def test_r3_a_segment_is_the_documents_own_text(user: httpx.Client) -> None:
    reply = user.post("/v1/kbs/handbook/search", json={"query": "How do I record paid time off?"}).json()

    segment = reply["segments"][0]
    text = user.get(f"/v1/kbs/handbook/documents/{segment['doc_id']}/text").json()["text"]
    assert segment["text"] == text[segment["start"] : segment["end"]]
    assert segment["score"] > 0


def test_the_command_line_explains_a_search(stack: Stack) -> None:
    command = [str(Path(sys.executable).with_name("citewire")), "search", "paid time off", "--kb", "handbook"]

    done = subprocess.run(
        [*command, "--explain", "--url", stack.base_url, "--key", stack.admin_key],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert "Paid time off" in done.stdout
    assert "lexical" in done.stdout + done.stderr
