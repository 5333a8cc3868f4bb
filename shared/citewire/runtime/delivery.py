"""What becomes of a message: acknowledged, tried again later, or set aside. The only code that decides it.

handled                     acknowledged
TransientError, or a bug    not acknowledged, redelivered after a delay, `max_deliver` times in all
PermanentError, unreadable  set aside at once
set aside                   copied to the dead-letter stream with its reason, `give_up` told, acknowledged
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog
from nats.aio.msg import Msg
from pydantic import BaseModel, ValidationError

from citewire.contracts.streams import DEAD_LETTER_SUBJECT
from citewire.runtime.bus import Bus
from citewire.runtime.errors import PermanentError, Refusal, TransientError
from citewire.runtime.provision import ConsumerSpec

E = TypeVar("E", bound=BaseModel)

log = structlog.get_logger()

# Seconds before the second, third … delivery of a message whose handler failed.
RETRY_DELAYS = (1.0, 4.0, 15.0)
# Characters of a reason that travel as a header.
MAX_REASON = 500


@dataclass(frozen=True)
class Consumer(Generic[E]):
    """A durable consumer bound to the stage function that handles its events.

    `give_up` is told of a readable event that was set aside, so that its question still ends.
    """

    spec: ConsumerSpec
    event: type[E]
    handle: Callable[[E], Awaitable[None]]
    give_up: Callable[[E, str], Awaitable[None]] | None = None


async def deliver(bus: Bus, consumer: Consumer[E], message: Msg) -> None:
    """Handle one message, in a task of its own, and tell the server what became of it."""
    # What is bound ends with the task.
    structlog.contextvars.bind_contextvars(
        consumer=consumer.spec.durable, subject=message.subject, delivery=message.metadata.num_delivered
    )
    try:
        event = consumer.event.model_validate_json(message.data)
    except ValidationError as error:
        await _set_aside(bus, consumer, message, None, f"unreadable: {error.errors()[0]['msg']}")
        return
    if getattr(event, "full_subject", message.subject) != message.subject:
        # Permissions are by subject: who publishes under its own must not speak for another inside.
        await _set_aside(bus, consumer, message, None, "unreadable: it says another subject than its own")
        return
    if message.metadata.num_delivered > consumer.spec.max_deliver and not consumer.spec.outlasts_outages:
        # Only a process that died in the middle leaves a message with so many deliveries.
        await _set_aside(bus, consumer, message, event, "every earlier try ended without a word")
        return
    await _handle(bus, consumer, message, event)


async def _handle(bus: Bus, consumer: Consumer[E], message: Msg, event: E) -> None:
    try:
        async with _keep_alive(consumer.spec, message) if consumer.spec.is_long else contextlib.nullcontext():
            await consumer.handle(event)
    except (PermanentError, Refusal) as error:
        await _set_aside(bus, consumer, message, event, str(error))
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
        await _set_aside(bus, consumer, message, event, reason)
        return
    delay = max(
        error.retry_after if isinstance(error, TransientError) else 0.0, RETRY_DELAYS[min(tries, len(RETRY_DELAYS)) - 1]
    ) * random.uniform(0.8, 1.2)  # noqa: S311
    log.warning("message will be tried again", reason=reason, delay=round(delay, 1))
    await message.nak(delay=delay)


async def _set_aside(bus: Bus, consumer: Consumer[E], message: Msg, event: E | None, reason: str) -> None:
    log.error("message set aside", reason=reason)
    spec, sequence = consumer.spec, message.metadata.sequence.stream
    await bus.publish_raw(
        f"{DEAD_LETTER_SUBJECT}.{spec.stream}.{spec.durable}",
        message.data,
        f"dead:{spec.stream}:{spec.durable}:{sequence}",
        {
            "Citewire-Subject": message.subject,
            "Citewire-Reason": " ".join(reason.split())[:MAX_REASON],
            "Citewire-Deliveries": str(message.metadata.num_delivered),
        },
    )
    if event is not None and consumer.give_up is not None:
        await consumer.give_up(event, reason)
    await message.ack()


@contextlib.asynccontextmanager
async def _keep_alive(spec: ConsumerSpec, message: Msg) -> AsyncGenerator[None]:
    """While a long handler works, tell the server so, three times per acknowledgement window."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(spec.ack_wait.total_seconds() / 3)
            await message.in_progress()

    ticking = asyncio.create_task(tick())
    try:
        yield
    finally:
        ticking.cancel()
