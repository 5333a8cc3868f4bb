"""Retries of messages that were set aside, each by the handler of the consumer that it was set aside from."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any

import structlog
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from citewire.contracts.dead_letters import CUT_FROM_HEADER, SUBJECT_HEADER
from citewire.contracts.requests import Retried, RetryDeadLetter
from citewire.contracts.streams import DEAD_LETTERS
from citewire.runtime.bus import Bus
from citewire.runtime.delivery import Consumer, read_event
from citewire.runtime.errors import PermanentError, TransientError, conflict, not_found
from citewire.runtime.service import Responder

# Seconds after which whoever asked for a retry hears that it still runs.
PATIENCE = 4.0

log = structlog.get_logger()


@contextlib.asynccontextmanager
async def retrying(bus: Bus, consumers: Sequence[Consumer[Any]]) -> AsyncGenerator[list[Responder[RetryDeadLetter]]]:
    """What answers requests to retry for consumers; retries that still run when the block ends are given up."""
    running: dict[int, asyncio.Task[None]] = {}
    retries = _Retries(bus, running)
    try:
        yield [
            Responder(RetryDeadLetter, partial(retries.retry, consumer), (consumer.spec.durable,))
            for consumer in consumers
        ]
    finally:
        for task in running.values():
            task.cancel()
        await asyncio.gather(*running.values(), return_exceptions=True)


class _Retries:
    def __init__(self, bus: Bus, running: dict[int, asyncio.Task[None]]) -> None:
        self._bus = bus
        self._running = running

    async def retry(self, consumer: Consumer[Any], request: RetryDeadLetter) -> Retried:
        """Handle a letter; raises Refusal (404, 409), TransientError, or the handler's own bug."""
        if request.sequence in self._running:
            raise conflict("This message is being retried already.")
        event = await self._read(consumer, request.sequence)
        task = self._running[request.sequence] = asyncio.create_task(self._handle(consumer, event, request.sequence))
        task.add_done_callback(partial(self._ended, request.sequence))
        await asyncio.wait([task], timeout=PATIENCE)
        if task.done():
            await task
        return Retried(is_handled=task.done())

    def _ended(self, sequence: int, task: "asyncio.Task[None]") -> None:
        del self._running[sequence]
        if not task.cancelled() and (error := task.exception()):
            log.warning("retry of a dead letter failed", letter=sequence, error=repr(error))

    async def _read(self, consumer: Consumer[Any], sequence: int) -> Any:
        try:
            letter = await self._bus.js.get_msg(DEAD_LETTERS, sequence)
        except NotFoundError as error:
            raise not_found("dead letter") from error
        except (NatsError, TimeoutError) as error:
            raise TransientError("JetStream is away") from error
        if str(letter.subject).rpartition(".")[2] != consumer.spec.durable:
            raise not_found("dead letter of this consumer")
        headers = letter.headers or {}
        if CUT_FROM_HEADER in headers:
            raise conflict("This message was too large to be kept whole.")
        event = read_event(consumer.event, headers.get(SUBJECT_HEADER, ""), letter.data or b"")
        if isinstance(event, str):
            raise conflict(event)
        return event

    async def _handle(self, consumer: Consumer[Any], event: Any, sequence: int) -> None:
        try:
            await consumer.handle(event)
        except PermanentError as error:
            raise conflict(str(error)) from error
        with contextlib.suppress(NotFoundError):
            await self._bus.js.delete_msg(DEAD_LETTERS, sequence)
