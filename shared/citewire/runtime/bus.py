"""NATS: publish facts with an id, ask owners of data, reach buckets. One connection per process."""

import asyncio
import itertools
from datetime import UTC, datetime
from typing import TypeVar

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError, NoRespondersError
from nats.js import JetStreamContext
from nats.js.errors import APIError
from pydantic import ValidationError

from citewire.contracts.events import DocumentEvent, DocumentOffered, Event
from citewire.contracts.requests import Refused, Reply, Request
from citewire.runtime.errors import Refusal, TransientError, overloaded

R = TypeVar("R", bound=Reply)

# A publication that is not acknowledged in this time has an unknown outcome: the same id is tried again.
PUBLISH_TIMEOUT = 5.0
PUBLISH_TRIES = 3
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
    """What services need of NATS."""

    def __init__(self, client: Client, js: JetStreamContext) -> None:
        self.client = client
        self.js = js
        self._acknowledgements = _Acknowledgements(client)

    async def publish(self, event: Event | DocumentEvent | DocumentOffered) -> None:
        """Put a fact on its stream, once whatever happens; raises TransientError, or Refusal when it is full."""
        await self.publish_raw(event.full_subject, event.model_dump_json().encode(), str(event.event_id))

    async def publish_raw(
        self, subject: str, payload: bytes, message_id: str, headers: dict[str, str] | None = None
    ) -> None:
        """Like `publish`, for a payload that is no event of ours."""
        all_headers = {**(headers or {}), "Nats-Msg-Id": message_id}
        for _ in range(PUBLISH_TRIES):
            try:
                await self._acknowledgements.publish(subject, payload, all_headers)
            except TimeoutError:
                continue
            except APIError as error:
                if error.err_code == MAXIMUM_MESSAGES_EXCEEDED:
                    raise overloaded("Too many questions are waiting.") from error
                raise TransientError(f"JetStream: {error.description}") from error
            except (NoRespondersError, ConnectionClosedError) as error:
                raise TransientError("JetStream is away") from error
            return
        raise TransientError(f"no acknowledgement for {subject}")

    async def ask(self, request: Request[R], timeout: float = 5.0) -> R:  # noqa: ASYNC109 - NATS counts it
        """Ask the owner of some data; raises its Refusal, or TransientError when it is away."""
        try:
            message = await self.client.request(
                request.full_subject, request.model_dump_json().encode(), timeout=timeout
            )
        except (TimeoutError, NoRespondersError, ConnectionClosedError) as error:
            raise TransientError(f"nobody answers {request.subject}") from error
        return read_reply(request, message.data)


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
