"""What the planner asks the retrievers of a question."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from builders import knowledge_base, private
from citewire.contracts.events import QuestionRejected, RetrievalPlanned, RetrievalRequested, now
from citewire.contracts.filters import Condition, Operator
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.requests import SessionContext
from citewire.contracts.sessions import SessionParams
from planner_stage import ASKER, RecordingBus, Stage, asked, session_of


async def plan(
    *kbs: KnowledgeBase, context: SessionContext | None = None, **fields: Any
) -> tuple[list[RetrievalRequested], Any]:
    """The requests of a question and what else was published."""
    published = await Stage(kbs, RecordingBus(context)).plan(asked(**fields))

    requests = [event for event in published if isinstance(event, RetrievalRequested)]
    (other,) = [event for event in published if not isinstance(event, RetrievalRequested)]
    return requests, other


def seconds_of(request: RetrievalRequested) -> float:
    return (request.deadline - now()) / timedelta(seconds=1)


async def test_a_request_goes_to_the_pool_of_its_knowledge_base_in_the_askers_name() -> None:
    (request,), _ = await plan(knowledge_base("a", pool="big"), kb_ids=["a"])

    assert request.full_subject == "qa.v1.retrieval.requested.big.a"
    assert request.user == ASKER


async def test_each_knowledge_base_gets_its_own_filter_and_all_the_same_parameters() -> None:
    condition = Condition(field="title", operator=Operator.EQUALS, value="x")
    params = SessionParams(filters={"b": condition}, rse_params="precision", top_k=3)

    (one, other), _ = await plan(knowledge_base("a"), knowledge_base("b"), kb_ids=["a", "b"], params=params)

    assert (one.filter, other.filter) == (None, condition)
    assert [(request.rse_params, request.top_k) for request in (one, other)] == [("precision", 3)] * 2


async def test_a_knowledge_base_knows_whether_it_is_searched_alone() -> None:
    alone, _ = await plan(knowledge_base("a"), knowledge_base("b"), kb_ids=["a"])
    together, _ = await plan(knowledge_base("a"), knowledge_base("b"), kb_ids=["a", "b"])

    assert [request.is_alone for request in (*alone, *together)] == [True, False, False]


async def test_e08_nothing_is_asked_for_a_question_to_a_knowledge_base_of_others() -> None:
    requests, rejection = await plan(knowledge_base("a"), private("secret", "friend"), kb_ids=["a", "secret"])

    assert requests == []
    assert isinstance(rejection, QuestionRejected)
    assert rejection.problem.status == 404


async def test_e09_what_was_revoked_is_neither_asked_nor_remembered() -> None:
    requests, planned = await plan(
        knowledge_base("a"), private("secret", "friend"), context=session_of("a", "secret"), session_id=uuid4()
    )

    assert [request.kb_id for request in requests] == ["a"]
    assert isinstance(planned, RetrievalPlanned)
    assert (planned.degraded, [turn.answer for turn in planned.history]) == ("no longer there: secret", [""])


async def test_a_knowledge_base_has_the_time_that_any_has() -> None:
    (request,), _ = await plan(knowledge_base("a"), kb_ids=["a"], seconds=10)

    assert seconds_of(request) == pytest.approx(4, abs=0.5)


async def test_a_knowledge_base_with_a_limit_of_its_own_has_no_more_time() -> None:
    slow, fast = knowledge_base("slow"), knowledge_base("fast", retrieval={"time_limit": 0.5})

    requests, _ = await plan(slow, fast, kb_ids=["slow", "fast"], seconds=10)

    assert [seconds_of(request) for request in requests] == pytest.approx([4, 0.5], abs=0.4)


async def test_a_limit_of_a_knowledge_base_never_gives_it_more_time_than_any_has() -> None:
    (request,), _ = await plan(knowledge_base("a", retrieval={"time_limit": 60}), kb_ids=["a"], seconds=10)

    assert seconds_of(request) == pytest.approx(4, abs=0.5)


async def test_the_generator_is_told_of_limits_of_their_own_and_of_no_others() -> None:
    slow, fast = (
        knowledge_base("slow", retrieval={"time_limit": 60}),
        knowledge_base("fast", retrieval={"time_limit": 1}),
    )

    requests, planned = await plan(slow, fast, kb_ids=["slow", "fast"], seconds=10)

    assert planned.kb_limits == {"fast": requests[1].deadline}
