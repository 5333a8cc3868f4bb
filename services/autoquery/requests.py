"""The plan that is published, and what the retrievers are asked of it, until when. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from autoquery.plan import Draft
from autoquery.scope import Scope
from citewire.contracts.events import QuestionAsked, RetrievalPlanned, RetrievalRequested, now
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.sessions import Turn


def planned_retrieval(
    event: QuestionAsked, scope: Scope, history: Sequence[Turn], draft: Draft, until: datetime
) -> RetrievalPlanned:
    """What will be searched: the knowledge bases that have a query, in the order of the scope."""
    bound = {query.kb_id for query in draft.queries}
    kbs = [kb for kb in scope.kbs if kb.kb_id in bound]
    gone = [f"no longer there: {', '.join(scope.gone_kb_ids)}"] if scope.gone_kb_ids else []
    return RetrievalPlanned(
        question_id=event.question_id,
        deadline=event.deadline,
        asker=event.asker,
        user=event.user,
        asked_at=event.occurred_at,
        question=event.question,
        session=scope.session,
        params=scope.params,
        history=tuple(history),
        queries=draft.queries,
        kb_ids=tuple(kb.kb_id for kb in kbs),
        kb_limits=own_limits(kbs, now(), until),
        planner=draft.planner,
        degraded="; ".join([*gone, *draft.problems]) or None,
    )


def own_limits(kbs: Iterable[KnowledgeBase], at: datetime, until: datetime) -> dict[str, datetime]:
    """The times by which those knowledge bases must answer that have less than until `until`."""
    limits = {kb.kb_id: at + timedelta(seconds=kb.retrieval.time_limit) for kb in kbs if kb.retrieval.time_limit}
    return {kb_id: limit for kb_id, limit in limits.items() if limit < until}


def retrieval_requests(planned: RetrievalPlanned, scope: Scope, until: datetime) -> list[RetrievalRequested]:
    """One request per knowledge base of the plan, each with the queries that are bound to it."""
    return [
        RetrievalRequested(
            question_id=planned.question_id,
            deadline=planned.kb_limits.get(kb.kb_id, until),
            kb_id=kb.kb_id,
            pool=kb.pool,
            queries=tuple(query for query in planned.queries if query.kb_id == kb.kb_id),
            top_k=scope.params.top_k,
            user=planned.user,
            filter=scope.params.filters.get(kb.kb_id),
            rse_params=scope.params.rse_params,
            is_alone=len(planned.kb_ids) == 1,
        )
        for kb in scope.kbs
        if kb.kb_id in planned.kb_ids
    ]
