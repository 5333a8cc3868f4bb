"""Questions to a stack whose model is a scripted one, and what must hold of every answer, however the model fails."""

import base64
import contextlib
import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from citewire.contracts.providers import AnswerForm, Protocol
from documents import upload
from frames import Answer, read_frames
from generator.reading.inline import DELIMITER
from scripted_model import ScriptedModel
from stack import Stack

KB = "travel"
FACT = "A trip must be booked 14 days ahead."
DOCUMENT = f"# Travel\n\n{FACT} Later bookings need a signature of the head of the department.\n"
QUESTION = "How many days ahead must a trip be booked?"
# Each test has the same one, so that whatever was written by any of them can be searched for it.
KEY = "sk-scripted-5ec4e7-9f8b27c1d3a64e05"
# With what the scripted model tells of its errors: nobody but the administrator of that model should read it.
OWN_WORDS = "own words"

SAID = {
    AnswerForm.INLINE: (
        "A trip ",
        "must be ",
        "booked ",
        "14 days ",
        "ahead [1].",
        f"\n{DELIMITER}\n",
        f'[{{"source": 1, "quote": {json.dumps(FACT)}}}]',
    ),
    AnswerForm.STRUCTURED: (
        '{"response": "A trip ',
        "must be ",
        "booked ",
        "14 days ",
        'ahead [1].", "citations": [{"source_index": 1, "page_number": null, "cited_text": ',
        f"{json.dumps(FACT)}}}]}}",
    ),
}
TEXT = "A trip must be booked 14 days ahead [1]."


@dataclass(frozen=True)
class Asked:
    """An answer as it came, byte by byte, and as it is on record."""

    answer: Answer
    streamed: bytes
    stored: bytes

    @property
    def done(self) -> dict[str, Any]:
        """The data of the last frame."""
        return self.answer.done

    @property
    def record(self) -> dict[str, Any]:
        """The stored interaction."""
        found: dict[str, Any] = json.loads(self.stored)
        return found


@dataclass
class Desk:
    """Sets the stack's model as an administrator, and asks as a user."""

    stack: Stack
    admin: httpx.AsyncClient
    user: httpx.AsyncClient
    read: list[bytes] = field(default_factory=list)

    async def set_model(self, address: str, protocol: Protocol, form: AnswerForm, **settings: Any) -> dict[str, Any]:
        """Make this the only provider, used for answers alone unless `settings` say more; its view."""
        body = {
            "address": address,
            "model": "scripted",
            "protocol": protocol,
            "form": form,
            "key": KEY,
            "max_retries": 0,
            "use_for_ask": True,
            "enabled": True,
        }
        response = await self.admin.put("/v1/settings/model/providers/main", json=body | settings)
        assert response.status_code == 200, response.text
        self.read.append(response.content)
        view: dict[str, Any] = response.json()
        return view

    async def ask(self, question: str = QUESTION, **body: Any) -> Asked:
        """Ask, read the stream to its end, and then the record."""
        response = await self.user.post("/v1/questions", json={"question": question, "kb_ids": [KB], **body})
        answer = Answer(response.headers["X-Question-Id"], read_frames(response))
        stored = await self.user.get(f"/v1/questions/{answer.question_id}")
        self.read += [response.content, stored.content]
        return Asked(answer, response.content, stored.content)


@contextlib.asynccontextmanager
async def open_desk(stack: Stack, patience: float = 30) -> AsyncGenerator[Desk]:
    """Clients for both of them, who wait `patience` seconds; when the block ends, no provider is left."""
    async with _client(stack, stack.admin_key, patience) as admin:
        key = (await admin.post("/v1/keys", json={"user": "asks a model"})).json()["key"]
        async with _client(stack, key, patience) as user:
            yield Desk(stack, admin, user)
        await admin.delete("/v1/settings/model/providers/main")


def _client(stack: Stack, key: str, patience: float) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=stack.base_url, headers={"Authorization": f"Bearer {key}"}, timeout=patience)


def fill(stack: Stack) -> None:
    """A knowledge base with one document."""
    with stack.client() as admin:
        admin.post("/v1/kbs", json={"kb_id": KB, "title": "Travel", "embedder": "none"}).raise_for_status()
        upload(admin, KB, "travel.md", DOCUMENT.encode())


def scripted(port: int = 0) -> ScriptedModel:
    """A scripted model that takes the key of these questions."""
    return ScriptedModel(port, KEY)


def check_answer(asked: Asked) -> None:
    """What holds of every answer: one end, numbers without gaps, stored as streamed."""
    frames, record = asked.answer.frames, asked.record
    assert [frame.event for frame in frames] == ["sources", *["delta"] * (len(frames) - 2), "done"]
    assert [frame.id for frame in frames] == list(range(1, len(frames) + 1))
    assert asked.done["persisted"] is True
    assert record["model_response"]["content"] == asked.answer.text
    assert record["model_response"]["citations"] == asked.done["citations"]
    for name in ("status", "degraded", "generator", "planner"):
        assert record[name] == asked.done[name], name


def leaks(data: bytes) -> list[str]:
    """The forms in which the key stands in some bytes, and the scripted model's own words if they do."""
    return [name for name, needle in _needles() if needle in data]


def _needles() -> Iterator[tuple[str, bytes]]:
    key = KEY.encode()
    yield "the key", key
    yield "its end", key[-16:]
    yield "the server's words", OWN_WORDS.encode()
    yield "hexadecimal", key.hex().encode()
    # Three bytes at a time become four characters; the outer ones depend on what else is there.
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + key)
        yield f"base64 ({shift})", encoded[4:-4]
