"""The stage: a question becomes a plan and one retrieval request per knowledge base, or a rejection."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from autoquery.follow_up import retrieval_context
from autoquery.history import MAX_TURNS, select_history
from autoquery.plan import plan_queries
from autoquery.scope import Scope, resolve_scope, usable_turns
from autoquery.settings import Settings
from citewire.contracts.events import (
    InteractionFinished,
    QuestionAsked,
    QuestionRejected,
    RetrievalPlanned,
    RetrievalRequested,
    now,
)
from citewire.contracts.evidence import SearchQuery
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.requests import GetSessionContext, SessionContext
from citewire.contracts.sessions import (
    Interaction,
    InteractionStatus,
    SessionParams,
    SessionRef,
    UserInput,
    new_session_id,
)
from citewire.runtime.bus import Bus, seconds_left
from citewire.runtime.errors import Refusal, invalid
from citewire.runtime.registry import Registry
from citewire.text.titles import session_title


@dataclass(frozen=True)
class Planner:
    """The stage functions with what they need."""

    bus: Bus
    kbs: Registry[KnowledgeBase]
    settings: Settings

    async def plan_retrieval(self, event: QuestionAsked) -> None:
        """Plan a question, or reject it with the reason; one whose time is over is left to the sweeper."""
        if seconds_left(event.deadline) == 0:
            return
        try:
            scope, planned = await self._plan(event)
        except Refusal as refusal:
            await self.bus.publish(_rejection(event, refusal))
            return
        # The plan first: the generator then listens before the first segments come.
        await asyncio.gather(
            self.bus.publish(planned),
            *(self.bus.publish(request) for request in self._requests(planned, scope)),
        )

    async def give_up(self, event: QuestionAsked, reason: str) -> None:
        """End a question that could not be planned."""
        await self.bus.publish(_failure(event, reason))

    async def _plan(self, event: QuestionAsked) -> tuple[Scope, RetrievalPlanned]:
        if not event.question.strip():
            raise invalid("question", "is empty")
        context = await self._session_context(event)
        scope = resolve_scope(event, self.kbs.entries, context)
        turns = usable_turns(context.turns if context else (), scope)
        history = select_history(turns, scope.params.max_chat_history_tokens)
        queries = plan_queries(
            event.question, retrieval_context(event.question, history), scope.kb_ids, scope.params.max_queries
        )
        return scope, RetrievalPlanned(
            question_id=event.question_id,
            deadline=event.deadline,
            asker=event.asker,
            user=event.user,
            asked_at=event.occurred_at,
            question=event.question,
            session=scope.session,
            params=scope.params,
            history=history,
            queries=queries,
            kb_ids=scope.kb_ids,
            degraded=_degraded(scope),
        )

    async def _session_context(self, event: QuestionAsked) -> SessionContext | None:
        if event.session_id is None:
            return None
        return await self.bus.ask(
            GetSessionContext(session_id=event.session_id, user_id=event.user.user_id, turns=MAX_TURNS)
        )

    def _requests(self, planned: RetrievalPlanned, scope: Scope) -> list[RetrievalRequested]:
        left = seconds_left(planned.deadline)
        limit = min(left * self.settings.retrieval_share, self.settings.retrieval_limit)
        return [
            RetrievalRequested(
                question_id=planned.question_id,
                deadline=datetime.now(UTC) + timedelta(seconds=limit),
                kb_id=kb.kb_id,
                pool=kb.pool,
                queries=_queries_for(kb.kb_id, planned.queries),
                top_k=scope.params.top_k,
                user=planned.user,
                filter=scope.params.filters.get(kb.kb_id),
                rse_params=scope.params.rse_params,
                is_alone=len(scope.kbs) == 1,
            )
            for kb in scope.kbs
        ]


def _queries_for(kb_id: str, queries: tuple[SearchQuery, ...]) -> tuple[SearchQuery, ...]:
    return tuple(query for query in queries if query.kb_id == kb_id)


def _degraded(scope: Scope) -> str | None:
    if not scope.gone_kb_ids:
        return None
    return f"no longer there: {', '.join(scope.gone_kb_ids)}"


def _rejection(event: QuestionAsked, refusal: Refusal) -> QuestionRejected:
    return QuestionRejected(
        question_id=event.question_id,
        deadline=event.deadline,
        asker=event.asker,
        user=event.user,
        question=event.question,
        problem=refusal.problem,
    )


def _failure(event: QuestionAsked, reason: str) -> InteractionFinished:
    session_id = event.session_id or new_session_id(event.question_id)
    return InteractionFinished(
        question_id=event.question_id,
        deadline=event.deadline,
        asker=event.asker,
        user=event.user,
        session=SessionRef(
            session_id=session_id,
            is_new=event.session_id is None,
            title=session_title(event.question),
            params=SessionParams(kb_ids=event.kb_ids or ()),
        ),
        interaction=Interaction(
            question_id=event.question_id,
            session_id=session_id,
            status=InteractionStatus.FAILED,
            user_input=UserInput(content=event.question, at=event.occurred_at),
            degraded=f"planning failed: {reason}",
            elapsed_ms={"total": (now() - event.occurred_at) / timedelta(milliseconds=1)},
        ),
    )
