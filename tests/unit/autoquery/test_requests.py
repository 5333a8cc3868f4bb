"""What the planner asks the retrievers of a question."""

from typing import Any
from uuid import uuid4

from autoquery.handlers import Planner
from autoquery.settings import Settings
from builders import knowledge_base, private
from citewire.contracts.events import QuestionAsked, QuestionRejected, RetrievalPlanned, RetrievalRequested, now
from citewire.contracts.filters import Condition, Operator
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.requests import Reply, Request, SessionContext
from citewire.contracts.sessions import Session, SessionParams, Turn
from citewire.runtime.bus import Bus
from citewire.runtime.registry import Registry

ASKER = User(user_id="u", groups=("sales",))


class KnownKbs(Registry[KnowledgeBase]):
    """A register without a server."""

    def __init__(self, *kbs: KnowledgeBase) -> None:
        self._entries = {kb.kb_id: kb for kb in kbs}


class RecordingBus(Bus):
    """Keeps what is published; every session is the one given."""

    def __init__(self, context: SessionContext | None) -> None:
        self._context = context
        self.published: list[Any] = []

    async def publish(self, event: Any) -> None:
        self.published.append(event)

    async def ask(self, request: Request[Any], timeout: float = 5.0) -> Reply:  # type: ignore[override] # noqa: ASYNC109 - the bus' own
        assert self._context is not None
        return self._context


async def plan(
    *kbs: KnowledgeBase, context: SessionContext | None = None, **fields: Any
) -> tuple[list[RetrievalRequested], Any]:
    """The requests of a question and what else was published."""
    event = {"question_id": uuid4(), "deadline": now().replace(year=2999), "asker": "web", "user": ASKER}
    bus = RecordingBus(context)
    planner = Planner(bus, KnownKbs(*kbs), Settings())

    await planner.plan_retrieval(QuestionAsked.model_validate(event | {"question": "Who leads it?"} | fields))

    requests = [event for event in bus.published if isinstance(event, RetrievalRequested)]
    (other,) = [event for event in bus.published if not isinstance(event, RetrievalRequested)]
    return requests, other


def session_of(*kb_ids: str) -> SessionContext:
    params = SessionParams(kb_ids=kb_ids)
    session = Session(
        session_id=uuid4(),
        user_id="u",
        title="t",
        params=params,
        kb_ids=kb_ids,
        created_at=now(),
        updated_at=now(),
    )
    return SessionContext(session=session, turns=(Turn(question="What is Heron?", answer="Ada's secret project."),))


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
