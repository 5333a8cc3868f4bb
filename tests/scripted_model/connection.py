"""One connection of a client: requests read from it, replies written at the moments that the script sets."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol, cast

from scripted_model.chat import ChatEncoder
from scripted_model.replies import Answer, Cut, Garbage, Reply, Silence, Status
from scripted_model.responses import ResponsesEncoder
from scripted_model.wire import Encoder, as_json, error_object

_ENCODERS: Mapping[str, Callable[[dict[str, Any]], Encoder]] = {
    "/v1/responses": ResponsesEncoder,
    "/v1/chat/completions": ChatEncoder,
}
_TLS_HANDSHAKE = b"\x16\x03"
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


@dataclass
class Received:
    """One request, and what became of its reply; times are seconds of `time.monotonic`."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)
    pieces: list[float] = field(default_factory=list)
    closed_at: float | None = None

    @property
    def closed_early(self) -> bool:
        """Whether the client went before the reply had ended."""
        return self.closed_at is not None


class Script(Protocol):
    """What a connection needs of its server."""

    connections: set["Connection"]

    def reply_to(self, received: Received) -> Reply:
        """Take note of a request, and choose its reply."""


class Connection(asyncio.Protocol):
    """HTTP/1.1 with connections that stay open, one request after the other."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._buffer = b""
        self._received: Received | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._script.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._buffer.startswith(_TLS_HANDSHAKE):
            self._send(HTTPStatus.BAD_REQUEST, {}, b"", size=0)
            self.close()
        elif self._task is None:
            self._read_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._script.connections.discard(self)
        if self._received:
            self._received.closed_at = time.monotonic()
        if self._task:
            self._task.cancel()

    def close(self) -> None:
        """End it from the server's side."""
        self._received = None
        self._transport.close()

    def _read_request(self) -> None:
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", "0"))
        if len(rest) < size:
            return
        self._buffer = rest[size:]
        self._received = Received(first.split(" ")[1], headers, json.loads(rest[:size] or b"{}"))
        self._task = asyncio.get_running_loop().create_task(self._answer(self._received))
        self._task.add_done_callback(self._go_on)

    def _go_on(self, task: asyncio.Task[None]) -> None:
        self._task = self._received = None
        if task.cancelled():
            return
        if task.exception():
            self.close()
        # A mistake of the script, or of this server: the loop reports it.
        task.result()
        self._read_request()

    async def _answer(self, received: Received) -> None:
        reply = self._script.reply_to(received)
        encoder = _ENCODERS.get(received.path)
        if isinstance(reply, Status):
            self._send_status(reply, received)
        elif encoder is None:
            self._send_status(Status(404), received)
        elif isinstance(reply.ending, Silence) and not reply.ending.sends_head:
            await _for_ever()
        elif received.body.get("stream"):
            await self._stream(reply, encoder(received.body), received)
        else:
            await self._send_answer(reply, encoder(received.body), received)

    async def _stream(self, answer: Answer, encoder: Encoder, received: Received) -> None:
        due = time.monotonic() + answer.delay
        self._transport.write(_STREAM_HEAD + _chunk(encoder.opening()))
        for events, count in _chunks(answer, encoder):
            await _until(due)
            due += answer.pace
            received.pieces += [time.monotonic()] * count
            self._transport.write(_chunk(events))
        if isinstance(answer.ending, Silence):
            await _for_ever()
        self._end_stream(answer, encoder)

    def _end_stream(self, answer: Answer, encoder: Encoder) -> None:
        if answer.ending == Cut():
            self.close()
        else:
            self._transport.write(_chunk(encoder.ending(answer.ending, answer.usage)) + b"0\r\n\r\n")

    async def _send_answer(self, answer: Answer, encoder: Encoder, received: Received) -> None:
        await _until(received.at + answer.delay + answer.pace * max(len(answer.said) - 1, 0))
        if isinstance(answer.ending, Silence):
            await _for_ever()
        received.pieces += [time.monotonic()] * len(answer.said)
        body = answer.ending.data if isinstance(answer.ending, Garbage) else as_json(encoder.whole(answer))
        is_cut = isinstance(answer.ending, Cut)
        self._send(HTTPStatus.OK, {}, body[: len(body) // 2] if is_cut else body, size=len(body))
        if is_cut:
            self.close()

    def _send_status(self, reply: Status, received: Received) -> None:
        key = received.headers.get("authorization", "").removeprefix("Bearer ")
        said = f"The server's own words about the key {key}"
        body = {"error": error_object(HTTPStatus(reply.code).phrase, said)} if reply.body is None else reply.body
        headers = {} if reply.retry_after is None else {"retry-after": f"{reply.retry_after:g}"}
        data = body if isinstance(body, bytes) else as_json(body)
        self._send(HTTPStatus(reply.code), headers, data, size=len(data))

    def _send(self, code: HTTPStatus, headers: Mapping[str, str], body: bytes, *, size: int) -> None:
        fields = {"content-type": "application/json", "content-length": str(size), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._transport.write(f"HTTP/1.1 {code.value} {code.phrase}\r\n{lines}\r\n".encode() + body)


def _chunks(answer: Answer, encoder: Encoder) -> Iterator[tuple[bytes, int]]:
    """What is sent together: events, and of how many pieces."""
    events = (encoder.piece(piece) for piece in answer.said)
    return iter([(b"".join(events), len(answer.said))]) if answer.at_once else ((data, 1) for data in events)


def _chunk(data: bytes) -> bytes:
    # An empty chunk would end the body.
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


async def _until(due: float) -> None:
    if (left := due - time.monotonic()) > 0:
        await asyncio.sleep(left)


async def _for_ever() -> None:
    # Cancelled when the client goes.
    await asyncio.get_running_loop().create_future()
