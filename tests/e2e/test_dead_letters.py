"""Messages that were set aside, as an administrator meets them over HTTP."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import nats
import pytest

from stack import Stack
from waiting import until_found


async def publish(stack: Stack, subject: str, payload: bytes) -> None:
    client = await nats.connect(stack.nats_url())
    await client.jetstream().publish(subject, payload, headers={"Nats-Msg-Id": str(uuid4())}, timeout=5)
    await client.close()


def letters_with(admin: httpx.Client, text: str) -> list[dict[str, Any]]:
    letters = admin.get("/v1/dead-letters", params={"limit": 200}).json()["letters"]
    return [letter for letter in letters if text in letter["payload"]]


@pytest.fixture
def letter(stack: Stack, admin: httpx.Client) -> dict[str, Any]:
    """The letter of a poison message of the test's own."""
    mark = uuid4().hex

    async def make() -> None:
        await publish(stack, "qa.v1.retrieval.planned", f'{{"mark": "{mark}"}}'.encode())

        async def is_there() -> bool:
            return bool(await asyncio.to_thread(letters_with, admin, mark))

        await until_found(is_there, seconds=20)

    asyncio.run(make())
    return letters_with(admin, mark)[0]


def test_a_poison_message_is_listed_with_its_reason(letter: dict[str, Any]) -> None:
    assert (letter["stream"], letter["consumer"]) == ("QA_PLANS", "generator")
    assert letter["subject"] == "qa.v1.retrieval.planned"
    assert "question_id: Field required" in letter["reason"]
    assert letter["deliveries"] == 1


def test_an_unreadable_letter_can_not_be_retried(admin: httpx.Client, letter: dict[str, Any]) -> None:
    response = admin.post(f"/v1/dead-letters/{letter['sequence']}/retry")

    assert (response.status_code, response.json()["type"]) == (409, "conflict")
    assert "unreadable" in response.json()["detail"]


def test_a_dropped_letter_is_gone(admin: httpx.Client, letter: dict[str, Any]) -> None:
    path = f"/v1/dead-letters/{letter['sequence']}"
    assert admin.get(path).json() == letter

    dropped = admin.delete(path)

    assert dropped.status_code == 204
    assert [call(path).status_code for call in (admin.get, admin.delete)] == [404, 404]
    assert admin.post(f"{path}/retry").status_code == 404


def test_letters_are_for_administrators(user: httpx.Client, letter: dict[str, Any]) -> None:
    path = f"/v1/dead-letters/{letter['sequence']}"

    statuses = [
        user.get("/v1/dead-letters").status_code,
        user.get(path).status_code,
        user.post(f"{path}/retry").status_code,
        user.delete(path).status_code,
    ]

    assert statuses == [403] * 4


@pytest.mark.parametrize("sequence", ["0", "-1", "x", str(2**63)])
def test_what_is_no_sequence_is_422(admin: httpx.Client, sequence: str) -> None:
    assert admin.get(f"/v1/dead-letters/{sequence}").status_code == 422


def test_a_document_that_was_set_aside_can_be_retried_once_its_cause_is_gone(stack: Stack, admin: httpx.Client) -> None:
    kb_id, file_name = f"kb-{uuid4().hex[:8]}", f"{uuid4().hex}.txt"

    async def offer() -> None:
        client = await nats.connect(stack.nats_url())
        uploads = await client.jetstream().object_store("uploads")
        await uploads.put(file_name, b"Storks build large nests.")
        await client.close()
        payload = f'{{"kb_id": "{kb_id}", "upload": "{file_name}", "file_name": "{file_name}"}}'
        await publish(stack, f"kb.v1.document.offered.{kb_id}", payload.encode())

        async def is_there() -> bool:
            return bool(await asyncio.to_thread(letters_with, admin, file_name))

        await until_found(is_there, seconds=20)

    asyncio.run(offer())
    (letter,) = letters_with(admin, file_name)
    too_early = admin.post(f"/v1/dead-letters/{letter['sequence']}/retry")
    admin.post("/v1/kbs", json={"kb_id": kb_id, "title": "Birds"})

    retried = admin.post(f"/v1/dead-letters/{letter['sequence']}/retry")

    assert too_early.status_code in {404, 409}
    assert (retried.status_code, retried.json()) == (200, {"is_handled": True})
    documents = admin.get(f"/v1/kbs/{kb_id}/documents").json()["documents"]
    assert [document["file_name"] for document in documents] == [file_name]
    assert letters_with(admin, file_name) == []


def test_the_command_line_lists_shows_and_drops(stack: Stack, letter: dict[str, Any]) -> None:
    number = str(letter["sequence"])

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(Path(sys.executable).with_name("citewire")), "dead-letters", *arguments],
            env={**os.environ, "CITEWIRE_URL": stack.base_url, "CITEWIRE_KEY": stack.admin_key, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    listed, shown, dropped, again = run("list"), run("show", number), run("drop", number), run("drop", number)

    assert "qa.v1.retrieval.planned" in listed.stdout
    assert shown.stdout.strip() == letter["payload"]
    assert (dropped.returncode, dropped.stdout.strip()) == (0, f"dropped {number}")
    assert again.returncode == 1
    assert "no such dead letter" in again.stderr
