"""What becomes of a message: acknowledged, tried again later, or set aside. The only code that decides it.

handled                     acknowledged
TransientError, or a bug    not acknowledged, redelivered after a delay, `max_deliver` times in all
PermanentError, unreadable  set aside at once
set aside                   copied to the dead-letter stream with its reason, whom it concerns told, acknowledged
cancelled (a shutdown)      handed back at once, by the consumer (`pull`)
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import structlog
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from pydantic import BaseModel, ValidationError

from citewire.contracts.dead_letters import CUT_FROM_HEADER, DELIVERIES_HEADER, REASON_HEADER, SUBJECT_HEADER
from citewire.contracts.streams import DEAD_LETTER_SUBJECT
from citewire.runtime.bus import Bus
from citewire.runtime.errors import PermanentError, Refusal, TransientError
from citewire.runtime.provision import ConsumerSpec

E = TypeVar("E", bound=BaseModel)

log = structlog.get_logger()

# The how many-th delivery the handler of this task is given.
delivery_count: ContextVar[int] = ContextVar("delivery_count", default=1)

# Seconds before the second, third … delivery of a message whose handler failed.
RETRY_DELAYS = (1.0, 4.0, 15.0)
# By how much of itself a delay differs, so that what failed together does not come back together.
RETRY_JITTER = 0.2
# Characters of a reason that travel as a header.
MAX_REASON = 500


@dataclass(frozen=True)
class Consumer(Generic[E]):
    """A durable consumer bound to the stage function that handles its events.

    `give_up` is told of a readable event that was set aside, and why, so that its question still ends; `refuse` of the
    subject and data of an unreadable one, and why, so that its sender hears of it. What either raises but
    TransientError is logged and nothing more: the message is set aside all the same.
    """

    spec: ConsumerSpec
    event: type[E]
    handle: Callable[[E], Awaitable[None]]
    give_up: Callable[[E, str], Awaitable[None]] | None = None
    refuse: Callable[[str, bytes, str], Awaitable[None]] | None = None


async def deliver(bus: Bus, consumer: Consumer[E], message: Msg) -> None:
    """Handle one message, in a task of its own, and tell the server what became of it."""
    # What is bound ends with the task.
    delivery_count.set(message.metadata.num_delivered)
    structlog.contextvars.bind_contextvars(
        consumer=consumer.spec.durable, subject=message.subject, delivery=message.metadata.num_delivered
    )
    event = read_event(consumer.event, message.subject, message.data)
    if isinstance(event, str):
        refuse = consumer.refuse and partial(consumer.refuse, message.subject, message.data)
        await _set_aside(bus, consumer.spec, message, event, refuse)
        return
    if message.metadata.num_delivered > consumer.spec.max_deliver and not consumer.spec.outlasts_outages:
        # Only a process that died in the middle leaves a message with so many deliveries.
        await _give_up(bus, consumer, message, event, "every earlier try ended without a word")
        return
    await _handle(bus, consumer, message, event)


def read_event(kind: type[E], subject: str, data: bytes) -> E | str:
    """The event that a message is, or why it can't be read."""
    try:
        event = kind.model_validate_json(data)
    except ValidationError as error:
        return f"unreadable: {_field_errors(error)}"
    if getattr(event, "full_subject", subject) != subject:
        # Permissions are by subject: who publishes under its own must not speak for another inside.
        return "unreadable: it says another subject than its own"
    return event


def _field_errors(error: ValidationError) -> str:
    """Every fault, each after the field that it is in, without the values: they may be long, or private."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(": ".join((*filter(None, [".".join(map(str, fault["loc"]))]), fault["msg"])) for fault in faults)


async def _handle(bus: Bus, consumer: Consumer[E], message: Msg, event: E) -> None:
    try:
        async with _keep_alive(consumer.spec, message) if consumer.spec.is_long else contextlib.nullcontext():
            await consumer.handle(event)
    except (PermanentError, Refusal) as error:
        await _give_up(bus, consumer, message, event, str(error))
    except TransientError as error:
        await _try_again(bus, consumer, message, event, error)
    except Exception as error:  # a bug must neither stop the consumer nor lose the message
        log.exception("handler failed")
        await _try_again(bus, consumer, message, event, error)
    else:
        await message.ack()


async def _try_again(bus: Bus, consumer: Consumer[E], message: Msg, event: E, error: Exception) -> None:
    tries, reason = message.metadata.num_delivered, f"{type(error).__name__}: {error}"
    is_outage = isinstance(error, TransientError) and consumer.spec.outlasts_outages
    if tries >= consumer.spec.max_deliver and not is_outage:
        await _give_up(bus, consumer, message, event, reason)
        return
    delay = max(
        error.retry_after if isinstance(error, TransientError) else 0.0, RETRY_DELAYS[min(tries, len(RETRY_DELAYS)) - 1]
    ) * random.uniform(1 - RETRY_JITTER, 1 + RETRY_JITTER)  # noqa: S311
    log.warning("message will be tried again", reason=reason, delay=round(delay, 1))
    await message.nak(delay=delay)


async def _give_up(bus: Bus, consumer: Consumer[E], message: Msg, event: E, reason: str) -> None:
    await _set_aside(bus, consumer.spec, message, reason, consumer.give_up and partial(consumer.give_up, event))


async def _set_aside(
    bus: Bus, spec: ConsumerSpec, message: Msg, reason: str, tell: Callable[[str], Awaitable[None]] | None
) -> None:
    log.error("message set aside", reason=reason)
    try:
        await bus.publish_raw(
            f"{DEAD_LETTER_SUBJECT}.{spec.stream}.{spec.durable}",
            # Almost all that a message may have leaves no room for the headers.
            message.data[: bus.max_payload],
            f"dead:{spec.stream}:{spec.durable}:{message.metadata.sequence.stream}",
            _letter_headers(message, reason, is_cut=len(message.data) > bus.max_payload),
        )
        if tell is not None:
            await _tell(tell, reason)
    except TransientError as error:
        log.warning("message will be set aside later", reason=str(error))
        await message.nak(delay=RETRY_DELAYS[0])
    else:
        await message.ack()


async def _tell(tell: Callable[[str], Awaitable[None]], reason: str) -> None:
    try:
        await tell(reason)
    except TransientError:
        raise
    except Exception:  # the letter tells of the message already, which must not come back for ever
        log.exception("nobody was told of a message that was set aside")


def _letter_headers(message: Msg, reason: str, *, is_cut: bool) -> dict[str, str]:
    headers = {
        SUBJECT_HEADER: message.subject,
        REASON_HEADER: " ".join(reason.split())[:MAX_REASON],
        DELIVERIES_HEADER: str(message.metadata.num_delivered),
    }
    return headers | ({CUT_FROM_HEADER: str(len(message.data))} if is_cut else {})


@contextlib.asynccontextmanager
async def _keep_alive(spec: ConsumerSpec, message: Msg) -> AsyncGenerator[None]:
    """While a long handler works, tell the server so, three times per acknowledgement window."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(spec.ack_wait.total_seconds() / 3)
            with contextlib.suppress(NatsError):
                await message.in_progress()

    ticking = asyncio.create_task(tick())
    try:
        yield
    finally:
        ticking.cancel()
