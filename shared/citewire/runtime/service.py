"""What a service is to the process that runs it: a name, and what it consumes, answers and serves."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import structlog
from nats.aio.msg import Msg
from pydantic import ValidationError
from redis.asyncio import Redis
from starlette.types import ASGIApp

from citewire.contracts.problems import Problem
from citewire.contracts.requests import Refused, Reply, Request
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.delivery import Consumer
from citewire.runtime.errors import Refusal, TransientError, too_large

Q = TypeVar("Q", bound=Request[Any])

log = structlog.get_logger()


@dataclass(frozen=True)
class Wires:
    """The connections of a process, shared by all its services.

    `draining` is set at the signal to stop: nothing new is accepted from then on, and readiness says so.
    """

    bus: Bus
    redis: Redis
    answer_log: AnswerLog
    draining: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Responder(Generic[Q]):
    """A stage function that answers requests of one class, those with these tokens in their subject."""

    request: type[Q]
    handle: Callable[[Q], Awaitable[Reply]]
    tokens: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """What it listens to."""
        return ".".join((self.request.subject, *self.tokens))


@dataclass(frozen=True)
class HttpApp:
    """An ASGI application and where it listens. `drain` is called at the signal to stop, before requests end.

    `protocol` is uvicorn's `http`: the class of its connections.
    """

    app: ASGIApp
    host: str
    port: int
    drain: Callable[[], None]
    protocol: type[asyncio.Protocol] | Literal["auto"] = "auto"


@dataclass(frozen=True)
class Bindings:
    """What a started service wants bound."""

    consumers: tuple[Consumer[Any], ...] = ()
    responders: tuple[Responder[Any], ...] = ()
    http: HttpApp | None = None


@dataclass(frozen=True)
class Service:
    """A service before it starts; `start` yields its bindings and cleans up after them."""

    name: str
    start: Callable[[Wires], contextlib.AbstractAsyncContextManager[Bindings]]


async def respond(responder: Responder[Q], message: Msg) -> bytes:
    """The reply to one request: what was asked for, or a problem that says why not."""
    try:
        reply = await responder.handle(responder.request.model_validate_json(message.data))
    except ValidationError as error:
        return _refuse(Problem(type="invalid-input", title="Invalid request", status=422, detail=str(error)))
    except Refusal as refusal:
        return _refuse(refusal.problem)
    except TransientError as error:
        log.warning("request failed", subject=message.subject, reason=str(error))
        return _refuse(Problem(type="unavailable", title="Try again later", status=503, retry_after=2))
    except Exception:  # a bug must not leave the asker waiting for its time-out
        log.exception("request failed", subject=message.subject)
        return _refuse(Problem(type="internal", title="Internal error", status=500))
    return reply.model_dump_json().encode()


def fitting(reply: bytes, limit: int) -> bytes:
    """A reply of at most `limit` bytes; in the place of a longer one a problem, for NATS would not take it."""
    if len(reply) <= limit:
        return reply
    log.error("a reply is too large", bytes=len(reply))
    detail = f"The reply has {len(reply)} bytes, more than a message may have: ask for less at once."
    return _refuse(too_large(detail).problem)


def _refuse(problem: Problem) -> bytes:
    return Refused(problem=problem).model_dump_json().encode()
