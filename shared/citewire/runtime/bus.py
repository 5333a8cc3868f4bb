"""NATS: publish facts with an id, ask owners of data, reach buckets. One connection per process."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import TypeVar

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError, NoRespondersError, OutboundBufferLimitError
from nats.js import JetStreamContext
from nats.js.errors import APIError
from pydantic import ValidationError

from citewire.contracts.events import DocumentEvent, DocumentOffered, Event
from citewire.contracts.requests import Refused, Reply, Request
from citewire.runtime.errors import PermanentError, Refusal, TransientError, overloaded, too_large

R = TypeVar("R", bound=Reply)

# A publication that is not acknowledged in this time has an unknown outcome: the same id is tried again.
PUBLISH_TIMEOUT = 5.0
PUBLISH_TRIES = 3
# The server counts headers with the payload, and closes the connection of a client that sends too much.
HEADER_ROOM = 4096
# Error code of JetStream for a stream that refuses new messages because it is full.
MAXIMUM_MESSAGES_EXCEEDED = 10077


class _Acknowledgements:
    """Publications that wait for their stream's word, on one inbox; nats-py's own take several times the work."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._inbox = ""
        self._numbers = itertools.count()
        self._waiting: dict[str, asyncio.Future[Msg]] = {}

    async def publish(self, subject: str, payload: bytes, headers: dict[str, str]) -> None:
        """Return once the stream has the message; raises APIError, NoRespondersError, TimeoutError."""
        if not self._inbox:
            self._inbox = self._client.new_inbox()
            await self._client.subscribe(f"{self._inbox}.*", cb=self._take)
        number, loop = str(next(self._numbers)), asyncio.get_running_loop()
        reply = self._waiting[number] = loop.create_future()
        late = loop.call_later(PUBLISH_TIMEOUT, _give_up, reply)
        try:
            await self._client.publish(subject, payload, f"{self._inbox}.{number}", headers)
            _check(await reply)
        finally:
            late.cancel()
            del self._waiting[number]

    def give_up_all(self) -> None:
        """End all waits with TimeoutError: their acknowledgements went down with the connection."""
        for reply in self._waiting.values():
            _give_up(reply)

    async def _take(self, message: Msg) -> None:
        reply = self._waiting.get(message.subject.rpartition(".")[2])
        if reply is not None and not reply.done():
            reply.set_result(message)


def _give_up(reply: "asyncio.Future[Msg]") -> None:
    if not reply.done():
        reply.set_exception(TimeoutError())


def _check(acknowledgement: Msg) -> None:
    if not acknowledgement.data:
        # Only the server itself answers without a word: that nobody listens.
        raise NoRespondersError
    if b'"error"' in acknowledgement.data:
        raise APIError.from_error(orjson.loads(acknowledgement.data)["error"])


class Bus:
    """What services need of NATS; whoever owns the connection says when it is `lost`, and when it is `renew`ed."""

    def __init__(self, client: Client, js: JetStreamContext) -> None:
        self.client = client
        self.js = js
        self._acknowledgements = _Acknowledgements(client)
        self._usable = asyncio.Event()
        self._usable.set()
        self._renewal = asyncio.Event()
        self._asked: set[asyncio.Timeout] = set()

    @property
    def renewal(self) -> asyncio.Event:
        """Set when the connection that there is now has been replaced: what the server forgets with it is gone."""
        return self._renewal

    @property
    def max_payload(self) -> int:
        """Bytes that a published message may have beside its headers."""
        return self.client.max_payload - HEADER_ROOM

    def lost(self) -> None:
        """The connection is gone: publications wait until `renew`, what has been asked will not be answered."""
        self._usable.clear()
        for limit in self._asked:
            limit.reschedule(asyncio.get_running_loop().time())

    def renew(self) -> None:
        """Another connection is there, on provisioned streams: what waited is published, what hangs is repeated."""
        self._usable.set()
        self._acknowledgements.give_up_all()
        ended, self._renewal = self._renewal, asyncio.Event()
        ended.set()

    async def ping(self) -> None:
        """Return after a round trip on a connection with provisioned streams; raises TransientError, or NATS' own."""
        if not self._usable.is_set():
            raise TransientError("NATS is away")
        await self.client.flush(timeout=1)

    async def publish(self, event: Event | DocumentEvent | DocumentOffered) -> None:
        """Put a fact on its stream, once whatever happens; raises TransientError, or Refusal when it is full."""
        await self.publish_raw(event.full_subject, event.model_dump_json().encode(), str(event.event_id))

    async def publish_raw(
        self, subject: str, payload: bytes, message_id: str, headers: dict[str, str] | None = None
    ) -> None:
        """Like `publish`, for a payload that is no event of ours; raises PermanentError where it is too large."""
        if len(payload) > self.max_payload:
            raise PermanentError(f"a message of {len(payload)} bytes is more than NATS takes")
        all_headers = {**(headers or {}), "Nats-Msg-Id": message_id}
        for _ in range(PUBLISH_TRIES):
            try:
                await self._until_usable()
                await self._acknowledgements.publish(subject, payload, all_headers)
            except TimeoutError:
                continue
            except APIError as error:
                if error.err_code == MAXIMUM_MESSAGES_EXCEEDED:
                    raise overloaded("Too many questions are waiting.") from error
                raise TransientError(f"JetStream: {error.description}") from error
            except (NoRespondersError, ConnectionClosedError, OutboundBufferLimitError) as error:
                raise TransientError("JetStream is away") from error
            return
        raise TransientError(f"no acknowledgement for {subject}")

    async def _until_usable(self) -> None:
        # A time limit costs more than the rest of a publication: only where there is something to wait for.
        if not self._usable.is_set():
            async with asyncio.timeout(PUBLISH_TIMEOUT):
                await self._usable.wait()

    async def ask(self, request: Request[R], timeout: float = 5.0) -> R:  # noqa: ASYNC109 - NATS counts it
        """Ask the owner of some data; raises its Refusal, or TransientError when it is away."""
        payload = request.model_dump_json().encode()
        if len(payload) > self.max_payload:
            raise too_large(f"The request has {len(payload)} bytes, more than a message may have.")
        try:
            async with self._asking():
                message = await self.client.request(request.full_subject, payload, timeout=timeout)
        except (TimeoutError, NoRespondersError, ConnectionClosedError, OutboundBufferLimitError) as error:
            raise TransientError(f"nobody answers {request.subject}") from error
        return read_reply(request, message.data)

    @contextlib.asynccontextmanager
    async def _asking(self) -> AsyncGenerator[None]:
        async with asyncio.timeout(None) as limit:
            self._asked.add(limit)
            try:
                yield
            finally:
                self._asked.discard(limit)


def read_reply(request: Request[R], payload: bytes) -> R:
    """The reply that `payload` is; raises the Refusal that it carries instead."""
    try:
        refused = Refused.model_validate_json(payload)
    except ValidationError:
        return request.reply.model_validate_json(payload)  # type: ignore[return-value] # the class names its reply
    raise Refusal(refused.problem)


def seconds_left(deadline: datetime) -> float:
    """How long until a deadline; never below zero."""
    return max(0.0, (deadline - datetime.now(UTC)).total_seconds())
