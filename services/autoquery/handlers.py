"""The stage: a question becomes a plan and one retrieval request per knowledge base, or a rejection."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from autoquery.history import MAX_TURNS, select_history
from autoquery.model_plan import Planning
from autoquery.plan import Draft
from autoquery.prompt import Task
from autoquery.replies import failure, plan_of_nothing, rejection, unreadable
from autoquery.requests import planned_retrieval, retrieval_requests
from autoquery.scope import Scope, resolve_scope, usable_turns
from autoquery.settings import Settings
from autoquery.standing import Standing, Standings
from autoquery.stops import Stopped, Stops
from citewire.contracts.events import QuestionAsked, now
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.providers import Purpose
from citewire.contracts.requests import GetSessionContext, SessionContext
from citewire.contracts.sessions import LONGEST_ANSWER, Turn
from citewire.runtime.admission import Admission
from citewire.runtime.bus import Bus, seconds_left
from citewire.runtime.delivery import delivery_count
from citewire.runtime.errors import Refusal, TransientError, invalid
from citewire.runtime.providers import Providers
from citewire.runtime.question_length import check_length
from citewire.runtime.registry import Registry
from citewire.text.normalise import clean

log = structlog.get_logger()

# How much the clocks of two machines may differ.
CLOCK_SLACK = timedelta(minutes=1)


@dataclass(frozen=True)
class _Asked:
    """What a question is about, and what was said before."""

    scope: Scope
    history: tuple[Turn, ...]


@dataclass(frozen=True)
class Planner:
    """The stage functions with what they need; only `trusted` askers ask in the name of their users."""

    bus: Bus
    kbs: Registry[KnowledgeBase]
    standings: Standings
    stops: Stops
    admission: Admission
    providers: Providers
    settings: Settings
    trusted: Collection[str]

    async def plan_retrieval(self, event: QuestionAsked) -> None:
        """Plan a question, or reject it with the reason; one that ended before has its outcome told again."""
        fingerprint, event, standing = event.fingerprint, self._as_asked(event), None
        try:
            standing = await self.standings.of(event, fingerprint)
            if standing is not Standing.ENDED:
                await self._go_on(event, standing)
        except Refusal as refusal:
            # What a generator has goes on, whatever has changed since it was planned.
            if standing is not Standing.RUNNING:
                await self.bus.publish(rejection(event, fingerprint, refusal.problem))
        except Stopped:
            if standing is not Standing.RUNNING:
                await self.bus.publish(plan_of_nothing(event))

    async def give_up(self, event: QuestionAsked, reason: str) -> None:
        """End a question that could not be planned; one that a generator has ends there."""
        fingerprint, event = event.fingerprint, self._as_asked(event)
        try:
            standing = await self.standings.of(event, fingerprint)
        except Refusal as refusal:
            await self.bus.publish(rejection(event, fingerprint, refusal.problem))
            return
        if standing in {Standing.WAITING, Standing.STOPPED}:
            await self.bus.publish(failure(event, f"planning failed: {reason}", now()))

    async def refuse(self, subject: str, data: bytes, reason: str) -> None:
        """Tell the asker of a message that can't be read what is wrong with it."""
        rejected = unreadable(subject, data, reason, now())
        if rejected is None:
            log.warning("nobody to tell of an unreadable question", subject=subject)
        else:
            await self.bus.publish(rejected)

    def _as_asked(self, event: QuestionAsked) -> QuestionAsked:
        return event.model_copy(update={"question": clean(event.question), "user": event.asked_by(self.trusted)})

    async def _go_on(self, event: QuestionAsked, standing: Standing) -> None:
        is_running = standing is Standing.RUNNING
        if (left := seconds_left(event.deadline)) == 0:
            if not is_running:
                await self.bus.publish(failure(event, "no answer within the time limit", now()))
        elif standing is Standing.STOPPED:
            await self.bus.publish(plan_of_nothing(event))
        else:
            await self._search(event, left, is_running=is_running)

    async def _search(self, event: QuestionAsked, left: float, *, is_running: bool) -> None:
        async with self.stops.interrupting(event.asker, event.question_id):
            asked = await self._within(left, event)
            draft = await self._draft(event, asked, is_running=is_running)
        until = self._retrieval_end(event.deadline)
        planned = planned_retrieval(event, asked.scope, asked.history, draft, until)
        requests = retrieval_requests(planned, asked.scope, until)
        # A plan that a generator has is not published again: a second one would take the answer from it. Else it
        # comes first: the generator then listens before the first segments come.
        events = requests if is_running else (planned, *requests)
        await asyncio.gather(*map(self.bus.publish, events))

    def _retrieval_end(self, deadline: datetime) -> datetime:
        left = seconds_left(deadline)
        return now() + timedelta(seconds=min(left * self.settings.retrieval_share, self.settings.retrieval_limit))

    async def _within(self, left: float, event: QuestionAsked) -> _Asked:
        try:
            async with asyncio.timeout(min(left, self.settings.planning_limit)):
                asked = await self._look_up(event)
                # Before a model is asked: who is turned away costs nothing.
                await self._admit(event)
        except TimeoutError as error:
            raise TransientError("planning took too long") from error
        return asked

    async def _admit(self, event: QuestionAsked) -> None:
        """Count a question of another service; the gateway has counted its own."""
        if event.asker in self.trusted:
            return
        try:
            await self.admission.admit(event.user.user_id, event.question_id, event.deadline)
        except TransientError as error:
            log.warning("a question is not counted", reason=str(error))

    async def _look_up(self, event: QuestionAsked) -> _Asked:
        _check(event)
        context = await self._session_context(event)
        scope = resolve_scope(event, self.kbs.entries, context)
        check_length(event.question, scope.params, self.providers.entry(Purpose.ASK))
        turns = usable_turns(context.turns if context else (), scope)
        return _Asked(scope, select_history(turns, scope.params.max_chat_history_tokens))

    async def _draft(self, event: QuestionAsked, asked: _Asked, *, is_running: bool) -> Draft:
        params, kbs = asked.scope.params, asked.scope.kbs
        task = Task(event.question, asked.history, params.auto_query_guidance, kbs, params.max_queries)
        # An earlier delivery may have published a plan. The rules ask every knowledge base that it can name, and
        # nobody pays for the same plan twice.
        is_new = not is_running and delivery_count.get() == 1
        planning = Planning(self.providers, self.settings.model_limit)
        return await planning.draft(task, params.auto_query_model, event.deadline, is_new=is_new)

    async def _session_context(self, event: QuestionAsked) -> SessionContext | None:
        if event.session_id is None:
            return None
        return await self.bus.ask(
            GetSessionContext(session_id=event.session_id, user_id=event.user.user_id, turns=MAX_TURNS)
        )


def _check(event: QuestionAsked) -> None:
    if not event.question.strip():
        raise invalid("question", "is empty")
    if seconds_left(event.deadline) > (LONGEST_ANSWER + CLOCK_SLACK).total_seconds():
        raise invalid("deadline", "is more than an hour ahead")
