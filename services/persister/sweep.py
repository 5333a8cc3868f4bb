"""Every accepted question ends: those whose time passed without an outcome are ended here, whatever died."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

import structlog
from nats.errors import Error as NatsError

from citewire.contracts.events import QuestionAsked, now
from citewire.contracts.streams import OUTCOMES
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError
from citewire.runtime.provision import STORER, STREAMS
from persister.answer_ends import AnswerEnds
from persister.endings import overdue
from persister.settings import Settings
from persister.store import OutcomeStore

log = structlog.get_logger()

# An outcome that was published within this time, less a margin for clocks, makes ours with its id none.
_REMEMBERED = timedelta(seconds=next(stream.duplicate_window or 0 for stream in STREAMS if stream.name == OUTCOMES))
_MARGIN = timedelta(minutes=5)
# How long the outcomes of older questions may wait to be stored before ours count as the better ones.
_WAITING_LIMIT = timedelta(minutes=10)
# How long after its end is due a question waits for Redis, which may hold its text.
_REDIS_LIMIT = timedelta(minutes=1)


class Sweeper:
    """Ends what nobody ended; several may run, since an outcome's id makes its second publication none."""

    def __init__(self, bus: Bus, store: OutcomeStore, ends: AnswerEnds, settings: Settings) -> None:
        self._bus = bus
        self._store = store
        self._ends = ends
        self._settings = settings
        self._waiting_since: datetime | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Sweep at intervals until the block ends."""
        sweeping = asyncio.create_task(self._sweep_for_ever())
        try:
            yield
        finally:
            sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sweeping

    async def sweep(self) -> int:
        """End the questions that are overdue, with what was written of their answers; how many."""
        due = now() - timedelta(seconds=self._settings.sweep_grace)
        asked_after = now() - _REMEMBERED + _MARGIN if await self._may_real_ones_come() else None
        ended = 0
        for question in await self._store.unsettled(due, asked_after):
            ended += await self._end(question, due)
        return ended

    async def _end(self, question: QuestionAsked, due: datetime) -> bool:
        event = overdue(question)
        try:
            event = await self._ends.salvage(event)
        except TransientError:
            if question.deadline > due - _REDIS_LIMIT:
                return False
        await self._bus.publish(event)
        # Not "ended": an outcome may wait to be stored, and then this one, of the same id, is dropped.
        log.warning("overdue question", question_id=str(question.question_id))
        return True

    async def _may_real_ones_come(self) -> bool:
        """Whether outcomes wait to be stored that are so old that ours would count: a real one must not lose to it."""
        if not await self._has_waiting_outcomes():
            self._waiting_since = None
            return False
        self._waiting_since = self._waiting_since or now()
        return now() - self._waiting_since < _WAITING_LIMIT

    async def _has_waiting_outcomes(self) -> bool:
        try:
            info = await self._bus.js.consumer_info(STORER.stream, STORER.durable)
        except (NatsError, TimeoutError) as error:
            raise TransientError("JetStream is away") from error
        return bool(info.num_redelivered or info.num_pending)

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.sweep_interval)
            try:
                await self.sweep()
            except TransientError as error:
                log.warning("sweep failed", reason=str(error))
