"""The stage: one plan after the other is claimed, answered, stopped or given up."""

import contextlib
from collections.abc import Generator
from functools import partial
from uuid import UUID

from citewire.contracts.events import RetrievalPlanned
from citewire.runtime.answer_log import AnswerLog, Lease, new_token, unclaimed
from citewire.runtime.bus import seconds_left
from citewire.runtime.errors import TransientError
from citewire.runtime.written import read_written
from generator.leased import LeasedLog, TakenOver, insist
from generator.run import AnswerRun, Parts
from generator.stopping import Stopping

# Seconds that Redis may take to give the lease of a new answer; then it is written without a log, until there is one.
CLAIM_PATIENCE = 2.0


class Answering:
    """Answers questions; one object serves all of a process."""

    def __init__(self, log: AnswerLog, parts: Parts) -> None:
        self._log = log
        self._parts = parts
        self._running: dict[UUID, tuple[str, Stopping]] = {}

    def stop(self, asker: str, question_id: UUID) -> None:
        """Stop an answer that runs here and that this service asked for; others are none of our business."""
        owner, stopping = self._running.get(question_id, ("", None))
        if stopping is not None and owner == asker:
            stopping.set()

    async def answer(self, plan: RetrievalPlanned, *, is_first: bool = True) -> None:
        """Answer one question, whatever an earlier worker has done of it already.

        `is_first`: whether this is the first delivery of the plan, so that nobody can have written anything yet;
        otherwise the text may have begun, and nothing is done until Redis tells how far it is.
        """
        with self._stoppable(plan) as stopping, contextlib.suppress(TakenOver):
            lease = await self._claim(plan, is_first=is_first)
            if lease.is_stopped:
                stopping.set()
            await self._run(plan, lease, stopping).answer()

    async def give_up(self, plan: RetrievalPlanned, reason: str) -> None:
        """End a question that could not be answered, keeping what was written of it."""
        lease = await self._claim(plan, is_first=False)
        with contextlib.suppress(TakenOver):
            await self._run(plan, lease, Stopping()).end(f"answering failed: {reason}")

    def _run(self, plan: RetrievalPlanned, lease: Lease, stopping: Stopping) -> AnswerRun:
        return AnswerRun(self._parts, plan, LeasedLog(self._log, lease), read_written(lease.entries), stopping)

    async def _claim(self, plan: RetrievalPlanned, *, is_first: bool) -> Lease:
        left, token = seconds_left(plan.deadline), new_token()
        claim = partial(self._log.claim, plan.question_id, plan.user.user_id, left, token)
        try:
            return await insist(claim, CLAIM_PATIENCE if is_first else max(left, CLAIM_PATIENCE))
        except TransientError:
            if not is_first:
                raise
            return unclaimed(plan.question_id, plan.user.user_id, plan.deadline, token)

    @contextlib.contextmanager
    def _stoppable(self, plan: RetrievalPlanned) -> Generator[Stopping]:
        running = plan.asker, Stopping()
        self._running[plan.question_id] = running
        try:
            yield running[1]
        finally:
            # A second delivery of the plan may run in this process as well.
            if self._running.get(plan.question_id) is running:
                del self._running[plan.question_id]
