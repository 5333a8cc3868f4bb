"""Session, parameters and knowledge bases of a question."""

from uuid import UUID, uuid4

import pytest

from autoquery.scope import resolve_scope, usable_turns
from builders import knowledge_base, private
from citewire.contracts.events import QuestionAsked, now
from citewire.contracts.identity import User
from citewire.contracts.problems import Problem
from citewire.contracts.requests import SessionContext
from citewire.contracts.sessions import Session, SessionParams, Turn, new_session_id
from citewire.runtime.errors import Refusal, not_found

KNOWN = {kb_id: knowledge_base(kb_id) for kb_id in ("a", "b")}


def asked(**fields: object) -> QuestionAsked:
    return QuestionAsked.model_validate(
        {"question_id": uuid4(), "deadline": now(), "asker": "web", "user": User(user_id="u"), "question": "Why?"}
        | fields
    )


def context(*kb_ids: str, session_id: UUID | None = None, **params: object) -> SessionContext:
    settings = SessionParams.model_validate({"kb_ids": kb_ids, **params})
    session = Session(
        session_id=session_id or uuid4(),
        user_id="u",
        title="t",
        params=settings,
        kb_ids=settings.kb_ids,
        created_at=now(),
        updated_at=now(),
        interactions=1,
    )
    return SessionContext(session=session)


def test_a_first_question_opens_a_session_with_its_scope() -> None:
    event = asked(kb_ids=["a"])

    scope = resolve_scope(event, KNOWN, None)

    assert scope.session.session_id == new_session_id(event.question_id)
    assert scope.session.params.kb_ids == ("a",)


def test_parameters_of_one_question_are_not_stored_in_its_session() -> None:
    scope = resolve_scope(asked(kb_ids=["a"], params={"top_k": 3}), KNOWN, None)

    assert scope.params.top_k == 3
    assert scope.session.params.top_k == 8


def test_an_unknown_knowledge_base_is_not_found() -> None:
    with pytest.raises(Refusal) as refusal:
        resolve_scope(asked(kb_ids=["a", "x"]), KNOWN, None)

    assert refusal.value.problem.status == 404


def test_a_session_keeps_its_knowledge_bases() -> None:
    with pytest.raises(Refusal) as refusal:
        resolve_scope(asked(kb_ids=["b"]), KNOWN, context("a"))

    assert refusal.value.problem.errors[0].field == "kb_ids"


def test_a_session_uses_its_stored_parameters() -> None:
    scope = resolve_scope(asked(), KNOWN, context("a", top_k=5))

    assert (scope.params.top_k, scope.kb_ids) == (5, ("a",))


def test_a_knowledge_base_that_is_gone_is_named_and_not_searched() -> None:
    scope = resolve_scope(asked(), KNOWN, context("a", "gone"))

    assert (scope.kb_ids, scope.gone_kb_ids) == (("a",), ("gone",))


@pytest.mark.parametrize("fields", [{"kb_ids": ["secret"]}, {"params": {"kb_ids": ["a", "secret"]}}])
def test_e08_a_knowledge_base_of_others_is_as_if_it_did_not_exist(fields: dict[str, object]) -> None:
    register = {**KNOWN, "secret": private("secret", "owner", title="Merger plans")}

    with pytest.raises(Refusal) as refusal:
        resolve_scope(asked(**fields), register, None)

    assert refusal.value.problem == _missing("secret")


def test_e09_a_revoked_knowledge_base_is_like_a_removed_one_and_the_scope_grows_nowhere() -> None:
    register = {**KNOWN, "revoked": private("revoked", "owner", title="Merger plans")}

    scope = resolve_scope(asked(), register, context("a", "revoked"))

    assert (scope.kb_ids, scope.gone_kb_ids) == (("a",), ("revoked",))


def test_e09_answers_are_forgotten_when_a_knowledge_base_of_the_session_is_gone() -> None:
    turns = (Turn(question="Who buys whom?", answer="A buys B."),)

    kept = usable_turns(turns, resolve_scope(asked(), KNOWN, context("a")))
    left = usable_turns(turns, resolve_scope(asked(), KNOWN, context("a", "gone")))

    assert kept == turns
    assert left == (Turn(question="Who buys whom?", answer=""),)


def test_e11_a_session_is_answered_from_its_own_knowledge_base_only() -> None:
    scope = resolve_scope(asked(), KNOWN, context("a"))

    assert scope.kb_ids == ("a",)


def test_a_filter_of_another_knowledge_base_is_refused() -> None:
    filters = {"b": {"field": "title", "operator": "equals", "value": "x"}}

    with pytest.raises(Refusal) as refusal:
        resolve_scope(asked(kb_ids=["a"], params={"filters": filters}), KNOWN, None)

    assert refusal.value.problem.errors[0].field == "params.filters.b"


@pytest.mark.parametrize(("field", "value", "where"), [("month", 1, "field"), ("year", "1999", "value")])
def test_a_filter_that_the_schema_does_not_know_is_refused(field: str, value: object, where: str) -> None:
    register = {"a": knowledge_base("a", metadata_schema={"year": "number"})}
    filters = {"a": {"field": field, "operator": "equals", "value": value}}

    with pytest.raises(Refusal) as refusal:
        resolve_scope(asked(kb_ids=["a"], params={"filters": filters}), register, None)

    assert refusal.value.problem.errors[0].field == f"params.filters.a.{where}"


def test_the_filter_of_a_knowledge_base_that_is_gone_does_not_matter() -> None:
    filters = {"gone": {"field": "month", "operator": "equals", "value": 1}}

    scope = resolve_scope(asked(), KNOWN, context("a", "gone", filters=filters))

    assert scope.kb_ids == ("a",)


def test_no_knowledge_base_is_a_normal_case() -> None:
    assert resolve_scope(asked(), KNOWN, None).kb_ids == ()


def _missing(kb_id: str) -> Problem:
    return not_found(f"knowledge base: {kb_id}").problem
