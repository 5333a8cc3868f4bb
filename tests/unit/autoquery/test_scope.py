"""Session, parameters and knowledge bases of a question."""

from uuid import UUID, uuid4

import pytest

from autoquery.scope import resolve_scope
from citewire.contracts.events import QuestionAsked, now
from citewire.contracts.identity import User
from citewire.contracts.requests import SessionContext
from citewire.contracts.sessions import Session, SessionParams, new_session_id
from citewire.runtime.errors import Refusal

KNOWN = {"a", "b"}


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

    assert (scope.kb_ids, scope.removed_kb_ids) == (("a",), ("gone",))


def test_no_knowledge_base_is_a_normal_case() -> None:
    assert resolve_scope(asked(), KNOWN, None).kb_ids == ()
