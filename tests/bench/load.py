"""The asking side: raw sockets and a scan for a few bytes, so that the client hardly takes part in the race."""

import asyncio
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import orjson

from bench.stand_ins import DELTAS, KBS, QUESTION

ANSWER_TIMEOUT = 30.0

_END_OF_BODY = b"0\r\n\r\n"
_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)
_NAME = re.compile(rb"^event: (\w+)$", re.MULTILINE)


class BadAnswerError(Exception):
    """An answer that is not complete, in order, and on record."""


@dataclass(frozen=True)
class Timing:
    """Seconds from sending a question to its first frame, and to its last."""

    first: float
    total: float


async def ask_many(port: int, key: str, questions: int, concurrency: int) -> list[Timing]:
    """Ask so many questions, so many at a time; raises BadAnswerError for the first answer that is not right."""
    request, numbers = _request(port, key), iter(range(questions))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_ask_in_turn(port, request, numbers)) for _ in range(concurrency)]
    return [timing for task in tasks for timing in task.result()]


def _request(port: int, key: str) -> bytes:
    body = orjson.dumps({"question": QUESTION, "kb_ids": KBS})
    head = (
        f"POST /v1/questions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _ask_in_turn(port: int, request: bytes, numbers: Iterator[int]) -> list[Timing]:
    transport, connection = await asyncio.get_running_loop().create_connection(_Connection, "127.0.0.1", port)
    timings = []
    try:
        for _ in numbers:
            timings.append(await connection.ask(request))
            check_answer(bytes(connection.received))
    finally:
        transport.close()
    return timings


class _Connection(asyncio.Protocol):
    """One question at a time over a connection that stays open."""

    _complete: asyncio.Future[None] | None = None

    def __init__(self) -> None:
        self.received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not of asyncio's class.
        self._transport = cast("asyncio.Transport", transport)

    async def ask(self, request: bytes) -> Timing:
        self.received.clear()
        self._first = self._last = 0.0
        self._complete = asyncio.get_running_loop().create_future()
        started = time.perf_counter()
        self._transport.write(request)
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                await self._complete
        except TimeoutError:
            raise BadAnswerError(f"incomplete after {ANSWER_TIMEOUT} s: {bytes(self.received[-500:])!r}") from None
        return Timing(self._first - started, self._last - started)

    def data_received(self, data: bytes) -> None:
        received = self.received
        seen = len(received)
        received += data
        if not self._first and b"event: sources" in received:
            self._first = time.perf_counter()
        # The frame's name may be cut in two by the network.
        if not self._last and received.find(b"event: done", max(0, seen - 16)) >= 0:
            self._last = time.perf_counter()
        if received.endswith(_END_OF_BODY) and self._complete and not self._complete.done():
            self._complete.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._complete and not self._complete.done():
            self._complete.set_exception(BadAnswerError(f"connection lost: {bytes(self.received[-500:])!r}"))


def check_answer(response: bytes) -> None:
    """One `sources`, all deltas, one `done` that is on record, numbered without gaps; raises BadAnswerError."""
    head, _, chunked = response.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise BadAnswerError(repr(response[:500]))
    body = _unchunk(chunked)
    names, numbers = _NAME.findall(body), [int(number) for number in _ID.findall(body)]
    if names != [b"sources", *[b"delta"] * DELTAS, b"done"] or numbers != list(range(1, DELTAS + 3)):
        raise BadAnswerError(f"{len(names)} frames, numbers {numbers[:3]} to {numbers[-3:]}: {body[-500:]!r}")
    if b'"persisted":true' not in body:
        raise BadAnswerError("not on record in time")


def _unchunk(chunked: bytes) -> bytes:
    body, position = [], 0
    while size := int(chunked[position : (start := chunked.index(b"\r\n", position))], 16):
        start += 2
        body.append(chunked[start : start + size])
        position = start + size + 2
    return b"".join(body)
