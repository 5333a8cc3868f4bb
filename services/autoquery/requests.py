"""What the retrievers are asked of a planned question, and until when. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from autoquery.scope import Scope
from citewire.contracts.events import RetrievalPlanned, RetrievalRequested
from citewire.contracts.knowledge import KnowledgeBase


def own_limits(kbs: Iterable[KnowledgeBase], at: datetime, until: datetime) -> dict[str, datetime]:
    """The times by which those knowledge bases must answer that have less than until `until`."""
    limits = {kb.kb_id: at + timedelta(seconds=kb.retrieval.time_limit) for kb in kbs if kb.retrieval.time_limit}
    return {kb_id: limit for kb_id, limit in limits.items() if limit < until}


def retrieval_requests(planned: RetrievalPlanned, scope: Scope, until: datetime) -> list[RetrievalRequested]:
    """One request per knowledge base, each with the queries that are bound to it."""
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
            is_alone=len(scope.kbs) == 1,
        )
        for kb in scope.kbs
    ]
