"""Reading an answer's stream in tests."""

import json
from dataclasses import dataclass
from typing import Any

import httpx
from httpx_sse import EventSource


@dataclass(frozen=True)
class Frame:
    """One server-sent event."""

    id: int
    event: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """All frames of an answer."""

    question_id: str
    frames: tuple[Frame, ...]

    @property
    def text(self) -> str:
        """The deltas, joined."""
        return "".join(frame.data["text"] for frame in self.frames if frame.event == "delta")

    @property
    def sources(self) -> dict[str, Any]:
        """The data of the sources frame."""
        return next(frame.data for frame in self.frames if frame.event == "sources")

    @property
    def done(self) -> dict[str, Any]:
        """The data of the last frame, which must be `done`."""
        assert self.frames[-1].event == "done", self.frames[-1]
        return self.frames[-1].data


def read_frames(response: httpx.Response) -> tuple[Frame, ...]:
    """The frames of a response until it ends."""
    assert response.status_code == 200, response.read()
    return tuple(
        Frame(int(event.id), event.event, json.loads(event.data)) for event in EventSource(response).iter_sse()
    )


def ask(client: httpx.Client, question: str, *, headers: dict[str, str] | None = None, **body: Any) -> Answer:
    """Ask, and read the whole stream."""
    with client.stream("POST", "/v1/questions", json={"question": question, **body}, headers=headers) as response:
        frames = read_frames(response)
        return Answer(response.headers["X-Question-Id"], frames)


def follow(client: httpx.Client, question_id: str, after: int | None = None) -> Answer:
    """Read an answer's stream again."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with client.stream("GET", f"/v1/questions/{question_id}/events", headers=headers) as response:
        return Answer(question_id, read_frames(response))
