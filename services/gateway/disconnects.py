"""Answers whose last reader has left: those that ask for it are stopped once nobody came back in time."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from uuid import UUID

import structlog

from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.errors import TransientError
from gateway.hub import Hub
from gateway.stop import Stops

log = structlog.get_logger()


class Disconnects:
    """Waits beside the streams of a gateway process."""

    def __init__(self, answer_log: AnswerLog, hub: Hub, stops: Stops) -> None:
        self._log = answer_log
        self._hub = hub
        self._stops = stops
        self._waits: dict[UUID, asyncio.Task[None]] = {}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator["Disconnects"]:
        """Wait until the block ends; a gateway that stops leaves its answers to the others."""
        try:
            yield self
        finally:
            waits = list(self._waits.values())
            for wait in waits:
                wait.cancel()
            if waits:
                await asyncio.wait(waits)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer without readers may still be stopped."""
        return bool(self._waits)

    def came(self, question_id: UUID) -> None:
        """A client reads the answer."""
        if (wait := self._waits.pop(question_id, None)) is not None:
            wait.cancel()

    def left(self, question_id: UUID) -> None:
        """A client has left before the answer's end."""
        if not self._hub.has_readers(question_id):
            self.came(question_id)
            self._waits[question_id] = wait = asyncio.create_task(self._stop_later(question_id))
            wait.add_done_callback(lambda ended: self._forget(question_id, ended))

    def _forget(self, question_id: UUID, ended: "asyncio.Task[None]") -> None:
        if self._waits.get(question_id) is ended:
            del self._waits[question_id]

    async def _stop_later(self, question_id: UUID) -> None:
        try:
            state = await self._log.state(question_id)
            if state is None or state.is_ended or state.grace is None:
                return
            await asyncio.sleep(state.grace)
            if not await self._hub.listeners(question_id):
                log.info("answer without readers stopped", question_id=str(question_id))
                await self._stops.stop(question_id)
        except TransientError as error:
            # Rather an answer too many than one stopped that somebody reads.
            log.warning("disconnect not followed up", question_id=str(question_id), reason=str(error))
