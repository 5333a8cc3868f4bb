"""Reads many streams at once and checks each byte: `python -m bench.stream_reader PORT KEY ANSWERS DELTAS`.

Says `ready` once every stream has its sources, then, when all have ended, one line of JSON: the seconds that deltas
were on their way, and then the seconds that replays of a finished answer took.
"""

import asyncio
import re
import sys
import time
from typing import cast

import orjson
import uvloop

from bench.stream_answers import REPLAYED_DELTAS, question_id
from embedded.parent import end_with_parent

TIMEOUT = 300.0
REPLAYS = 40

_FRAME = re.compile(rb"id: (\d+)\nevent: (\w+)\ndata: ([^\n]*)\n\n")
_DELTA = re.compile(rb'\{"text":"(\d+) (\d+) (\d+) some words "\}')


class BadStreamError(Exception):
    """A stream that is not complete and in order."""


class Stream(asyncio.Protocol):
    """One answer's stream over a connection of its own."""

    def __init__(self, answer: int, deltas: int) -> None:
        loop = asyncio.get_running_loop()
        self.began: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.delays: list[int] = []
        self._answer = answer
        self._deltas = deltas
        self._raw = bytearray()
        self._body = bytearray()
        self._frames = 0
        self._has_head = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not of asyncio's class.
        self._transport = cast("asyncio.Transport", transport)

    def ask(self, key: str) -> None:
        """Send the request."""
        path = f"/v1/questions/{question_id(self._answer)}/events"
        self._transport.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        self._raw += data
        try:
            self._read()
        except BadStreamError as error:
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(BadStreamError(f"answer {self._answer}: connection lost after {self._frames} frames"))

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def _fail(self, error: BadStreamError) -> None:
        for future in (self.began, self.ended):
            if not future.done():
                future.set_exception(error)

    def _read(self) -> None:
        if not self._has_head and not self._read_head():
            return
        self._unchunk()
        position = 0
        while frame := _FRAME.match(self._body, position):
            self._take(int(frame[1]), frame[2], frame[3])
            position = frame.end()
        del self._body[:position]

    def _read_head(self) -> bool:
        head, end, rest = self._raw.partition(b"\r\n\r\n")
        if not end:
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise BadStreamError(repr(bytes(self._raw)))
        self._raw, self._has_head = rest, True
        return True

    def _unchunk(self) -> None:
        position = 0
        while (end := self._raw.find(b"\r\n", position)) >= 0:
            after = end + 2 + int(self._raw[position:end], 16)
            if len(self._raw) < after + 2:
                break
            # Heartbeats are comments, and no frames.
            if (content := self._raw[end + 2 : after]) != b":\n\n":
                self._body += content
            position = after + 2
        del self._raw[:position]

    def _take(self, number: int, event: bytes, data: bytes) -> None:
        self._frames += 1
        if number != self._frames:
            raise BadStreamError(f"answer {self._answer}: frame {number} where {self._frames} was due")
        if number == 1:
            self._expect(event, b"sources")
            self.began.set_result(None)
        elif number == self._deltas + 2:
            self._expect(event, b"done")
            self.ended.set_result(None)
        else:
            self._expect(event, b"delta")
            self._take_delta(number - 2, data)

    def _take_delta(self, delta: int, data: bytes) -> None:
        found = _DELTA.fullmatch(data)
        if found is None or (int(found[1]), int(found[2])) != (self._answer, delta):
            raise BadStreamError(f"answer {self._answer}: {data!r} where delta {delta} was due")
        self.delays.append(time.monotonic_ns() - int(found[3]))

    def _expect(self, event: bytes, expected: bytes) -> None:
        if event != expected:
            raise BadStreamError(f"answer {self._answer}: {event!r} where {expected!r} was due")


async def main(port: int, key: str, answers: int, deltas: int) -> None:
    """Read all streams, then replay; prints what came."""
    async with asyncio.timeout(TIMEOUT):
        streams = [await _open(port, key, answer, deltas) for answer in range(answers)]
        await asyncio.gather(*(stream.began for stream in streams))
        print("ready", flush=True)
        await asyncio.gather(*(stream.ended for stream in streams))
    print(orjson.dumps([delay / 1e9 for stream in streams for delay in stream.delays]).decode(), flush=True)
    for stream in streams:
        stream.close()
    print(orjson.dumps([await _replay(port, key, answers) for _ in range(REPLAYS)]).decode(), flush=True)


async def _open(port: int, key: str, answer: int, deltas: int) -> Stream:
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(lambda: Stream(answer, deltas), "127.0.0.1", port)
    stream.ask(key)
    return stream


async def _replay(port: int, key: str, answer: int) -> float:
    """Seconds from connecting to the last frame of a finished answer."""
    started = time.perf_counter()
    stream = await _open(port, key, answer, REPLAYED_DELTAS)
    await stream.ended
    seconds = time.perf_counter() - started
    stream.close()
    return seconds


if __name__ == "__main__":
    end_with_parent()
    port, key, answers, deltas = sys.argv[1:]
    uvloop.run(main(int(port), key, int(answers), int(deltas)))
