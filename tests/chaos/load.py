"""Clients as they should be: each asks with a key, and goes on at the other gateway whatever happens to the first."""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import httpx
import orjson
from httpx_sse import EventSource, ServerSentEvent

from chaos import facts

# Heartbeats come every 3 s here: twice that without a byte means that the connection is dead.
READ_TIMEOUT = 7.0
PAUSE = 0.1
# The longest that a client obeys a Retry-After: the suite has little time.
LONGEST_PAUSE = 2.0
BUSY = frozenset({429, 503})
FRAMES = frozenset({"sources", "delta", "done", "error"})


@dataclass
class Asked:
    """One question and all that its client saw of it; times by the monotonic clock."""

    question: str
    kb_ids: Sequence[str]
    key: str = field(default_factory=lambda: uuid4().hex)
    id: UUID | None = None
    accepted_at: float = 0.0
    heard_at: float = 0.0
    ended_at: float = 0.0
    # Silences between frames that were longer than a second: when they began and ended.
    silences: list[tuple[float, float]] = field(default_factory=list)
    text: str = ""
    number: int = 0
    # `done` or `error`, and its data.
    end: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    resumed: int = 0
    anew: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        """How the client was told that it ended; empty for not at all."""
        return "failed" if self.end == "error" else str(self.data.get("status", ""))

    @property
    def is_writing(self) -> bool:
        """Whether its text has begun and not ended."""
        return bool(self.text) and not self.end

    def take(self, frame: ServerSentEvent) -> None:
        """Note a frame and what is wrong with it."""
        if frame.event not in FRAMES:
            return
        self._listen()
        number = int(frame.id)
        if frame.event == "sources":
            self.anew += bool(self.number)
            self.text = ""
        elif number != self.number + 1:
            self.faults.append(f"frame {number} ({frame.event}) after frame {self.number}")
        self.number = number
        if frame.event == "delta":
            self.text += orjson.loads(frame.data)["text"]
        elif frame.event in {"done", "error"}:
            self.end, self.data, self.ended_at = frame.event, orjson.loads(frame.data), self.heard_at

    def accept(self, question_id: UUID) -> None:
        """Note that the service took it."""
        if self.id is None:
            self.id, self.accepted_at, self.heard_at = question_id, time.monotonic(), time.monotonic()
        elif self.id != question_id:
            self.faults.append(f"the same key became {question_id} and {self.id}")

    def _listen(self) -> None:
        now = time.monotonic()
        if now - self.heard_at > 1:
            self.silences.append((self.heard_at, now))
        self.heard_at = now


class Load:
    """Asks and follows questions over several gateways; `asked` holds all, ended or not."""

    def __init__(self, gateways: Sequence[str], key: str, answer_timeout: float) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        timeout = httpx.Timeout(10, read=READ_TIMEOUT)
        self._clients = [
            httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=timeout) for url in gateways
        ]
        self._answer_timeout = answer_timeout
        self._questions = facts.questions()
        self._readings: dict[str, asyncio.Task[None]] = {}
        self.asked: list[Asked] = []

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.aclose()

    @property
    def accepted(self) -> list[Asked]:
        """Those that the service took."""
        return [asked for asked in self.asked if asked.id is not None]

    @property
    def writing(self) -> list[Asked]:
        """Those whose answers are being written at this moment."""
        return [asked for asked in self.asked if asked.is_writing]

    async def ask_until(self, enough: asyncio.Event, clients: int) -> None:
        """So many clients ask one question after another until told that it is enough, and read to the end."""

        async def ask_on(number: int) -> None:
            while not enough.is_set():
                await self.follow(self.new(), first=number)

        async with asyncio.TaskGroup() as group:
            for number in range(clients):
                group.create_task(ask_on(number))

    def new(self) -> Asked:
        """The next question, not yet asked."""
        kb_ids = facts.KBS if len(self.asked) % 3 else facts.KBS[:1]
        asked = Asked(next(self._questions), kb_ids)
        self.asked.append(asked)
        return asked

    async def follow(self, asked: Asked, first: int = 0) -> None:
        """Ask at gateway `first` and go on at the next until the end has come; gives up when that is long overdue."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._answer_timeout * 2):
                for client in self._turns(first):
                    await self._read_until_broken(asked, client)
                    if asked.end:
                        return
                    asked.resumed += asked.id is not None
                    await asyncio.sleep(PAUSE)

    async def stop(self, asked: Asked, gateway: int) -> None:
        """Stop a question by one of the gateways."""
        response = await self._clients[gateway].post(f"/v1/questions/{asked.id}/stop")
        assert response.status_code == 202, response.text

    async def read_again(self, asked: Asked, gateway: int) -> Asked:
        """The whole answer as a client that comes now gets it."""
        again = Asked(asked.question, asked.kb_ids, id=asked.id)
        await self._read(again, self._clients[gateway])
        return again

    def cut(self) -> int:
        """Break the connections of all that read at this moment; how many."""
        for reading in self._readings.values():
            reading.cancel()
        return len(self._readings)

    def _turns(self, first: int) -> Iterator[httpx.AsyncClient]:
        turn = first
        while True:
            yield self._clients[turn % len(self._clients)]
            turn += 1

    async def _read_until_broken(self, asked: Asked, client: httpx.AsyncClient) -> None:
        """Read in a task that `cut` may cancel."""
        reading = self._readings[asked.key] = asyncio.create_task(self._read(asked, client))
        try:
            await asyncio.wait([reading])
        finally:
            reading.cancel()
            del self._readings[asked.key]
        if not reading.cancelled():
            reading.result()

    async def _read(self, asked: Asked, client: httpx.AsyncClient) -> None:
        """Post what has not been accepted, resume what has; returns when the stream ends or breaks."""
        with contextlib.suppress(httpx.TransportError):
            async with self._open(asked, client) as response:
                if response.status_code != httpx.codes.OK:
                    await self._obey(asked, response)
                    return
                asked.accept(UUID(response.headers["X-Question-Id"]))
                async for frame in EventSource(response).aiter_sse():
                    asked.take(frame)
                    if asked.end:
                        return

    def _open(self, asked: Asked, client: httpx.AsyncClient) -> contextlib.AbstractAsyncContextManager[httpx.Response]:
        if asked.id is None:
            body = {
                "question": asked.question,
                "kb_ids": asked.kb_ids,
                "params": {"answer_timeout": self._answer_timeout},
            }
            return client.stream("POST", "/v1/questions", json=body, headers={"Idempotency-Key": asked.key})
        headers = {"Last-Event-ID": str(asked.number)} if asked.number else {}
        return client.stream("GET", f"/v1/questions/{asked.id}/events", headers=headers)

    async def _obey(self, asked: Asked, response: httpx.Response) -> None:
        """Wait as long as the service asks for; anything else than "later" is a fault."""
        body = (await response.aread()).decode()
        if response.status_code not in BUSY:
            asked.faults.append(f"{response.request.method}: HTTP {response.status_code} {body[:200]}")
        elif "Retry-After" not in response.headers:
            asked.faults.append(f"{response.request.method}: HTTP {response.status_code} without Retry-After")
        asked.refused += 1
        await asyncio.sleep(min(LONGEST_PAUSE, float(response.headers.get("Retry-After", 1))))
