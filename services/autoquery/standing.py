"""How far a question is when it comes: by the answer log, and by the record where the log does not know it."""

import asyncio
from dataclasses import dataclass
from enum import Enum

from citewire.contracts.events import QuestionAsked
from citewire.contracts.requests import GetInteraction, InteractionReply, ReplayOutcome
from citewire.contracts.sessions import InteractionStatus
from citewire.runtime.answer_log import AnswerLog, Opening
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal, TransientError, conflict

# Seconds in which the owner of the record must answer: without it a question that has an outcome may run again, and
# its second outcome changes nothing.
RECORD_LIMIT = 2.0
# An outcome is published a moment before it is on record: how often, and at what interval in seconds, it is looked for.
OUTCOME_TRIES = 20
OUTCOME_PAUSE = 0.1

_RUNNING = (InteractionStatus.PENDING, InteractionStatus.STREAMING)


class Standing(Enum):
    """How far a question is."""

    WAITING = "nobody works on it"
    STOPPED = "nobody works on it, and nobody wants it any more"
    RUNNING = "a generator has it"
    ENDED = "it has its outcome"


@dataclass(frozen=True)
class Standings:
    """Looks questions up by their ids."""

    bus: Bus
    log: AnswerLog

    async def of(self, event: QuestionAsked, fingerprint: str) -> Standing:
        """How far a question is; the outcome of one that has ended is published again.

        Raises Refusal 409 when its id is that of another question.
        """
        opening = await self._open(event, fingerprint)
        if opening is not None and not opening.is_new:
            _check_same(opening.fingerprint, fingerprint)
            if not opening.is_ended:
                return _of_live(opening)
        is_ended = opening is not None and opening.is_ended
        for _ in range(OUTCOME_TRIES if is_ended else 1):
            record = await self._record(event)
            if record is not None:
                _check_same(record.fingerprint, fingerprint)
                if record.interaction.status not in _RUNNING:
                    await self.bus.ask(ReplayOutcome(question_id=event.question_id, asker=event.asker))
                    return Standing.ENDED
            if is_ended:
                await asyncio.sleep(OUTCOME_PAUSE)
        # An ended log whose outcome is not on record: it is on its way.
        return Standing.ENDED if is_ended else Standing.WAITING

    async def _open(self, event: QuestionAsked, fingerprint: str) -> Opening | None:
        """What the log says; None without Redis, which no question waits for."""
        try:
            return await self.log.open(event.question_id, event.user.user_id, fingerprint, event.deadline)
        except TransientError:
            return None

    async def _record(self, event: QuestionAsked) -> InteractionReply | None:
        request = GetInteraction(question_id=event.question_id, user_id=event.user.user_id)
        try:
            return await self.bus.ask(request, RECORD_LIMIT)
        except (Refusal, TransientError):
            return None


def _of_live(opening: Opening) -> Standing:
    if opening.is_claimed:
        return Standing.RUNNING
    return Standing.STOPPED if opening.is_stopped else Standing.WAITING


def _check_same(noted: str, fingerprint: str) -> None:
    # Empty where it was noted by nobody who knew it.
    if noted not in {"", fingerprint}:
        raise conflict("This id is that of another question.")
