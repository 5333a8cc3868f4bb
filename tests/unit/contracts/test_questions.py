"""What makes a question the same, and who asks it."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import ValidationError

from citewire.contracts.events import QuestionAsked, SegmentsFound, now
from citewire.contracts.identity import Role, User
from citewire.contracts.retrieval import RetrievalSettings
from citewire.contracts.sessions import SessionParamsInput
from citewire.text.normalise import clean

PARAMS = {"top_k": 3, "filters": {"a": {"field": "year", "operator": "greater_than", "value": 2020}}}


def asked(**fields: Any) -> QuestionAsked:
    event = {"question_id": uuid4(), "deadline": now(), "asker": "web", "user": {"user_id": "u"}, "question": "Why?"}
    return QuestionAsked.model_validate(event | {"kb_ids": ["a"], "params": PARAMS} | fields)


@pytest.mark.parametrize(
    ("kb_ids", "params", "scope"),
    [
        (["a"], {"kb_ids": ["b"]}, ("a",)),
        (None, {"kb_ids": ["b"]}, ("b",)),
        ([], {"kb_ids": ["b"]}, ()),
        (None, None, ()),
    ],
    ids=["its_own", "of_its_parameters", "none_on_purpose", "none"],
)
def test_the_scope_of_a_question_is_found_where_it_is_named(
    kb_ids: list[str] | None, params: dict[str, Any] | None, scope: tuple[str, ...]
) -> None:
    assert asked(kb_ids=kb_ids, params=params).scope == scope


def test_the_same_question_has_the_same_fingerprint_at_any_time_and_under_any_id() -> None:
    assert asked().fingerprint == asked().fingerprint


def test_a_fingerprint_survives_the_wire() -> None:
    event = asked(params=SessionParamsInput.model_validate(PARAMS | {"temperature": 1}))

    assert QuestionAsked.model_validate_json(event.model_dump_json()).fingerprint == event.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Why not?"},
        {"session_id": UUID(int=1)},
        {"kb_ids": ["b"]},
        {"kb_ids": None},
        {"params": PARAMS | {"top_k": 4}},
        {"params": None},
        {"user": {"user_id": "v"}},
        {"asker": "shop"},
    ],
    ids=repr,
)
def test_another_question_has_another_fingerprint(change: dict[str, Any]) -> None:
    assert asked(**change).fingerprint != asked().fingerprint


@pytest.mark.parametrize("text", ["a\0b", "a\r\nb", "a\rb", "a\x0bb\x0cc", "\ta \x1f", "é 😀 重"])
def test_cleaning_the_text_leaves_the_fingerprint(text: str) -> None:
    assert asked(question=clean(text)).fingerprint == asked(question=text).fingerprint


def test_a_parameter_at_its_default_does_not_count() -> None:
    assert asked(params=PARAMS | {"max_queries": 5}).fingerprint == asked().fingerprint


def test_groups_and_role_do_not_count() -> None:
    user = User(user_id="u", groups=("g",), role=Role.ADMINISTRATOR)

    assert asked(user=user).fingerprint == asked().fingerprint


def test_a_trusted_asker_says_who_asks() -> None:
    user = User(user_id="alice", groups=("sales",), role=Role.ADMINISTRATOR)

    assert asked(user=user).asked_by(("web",)) == user


def test_any_other_asker_asks_for_itself() -> None:
    user = User(user_id="alice", groups=("sales",), role=Role.ADMINISTRATOR)

    assert asked(asker="shop", user=user).asked_by(("web",)) == User(user_id="service:shop")


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_json_does_not_have_never_gets_into_a_message(score: float) -> None:
    leg = {"kb_id": "a", "leg": "lexical", "elapsed_ms": score}

    with pytest.raises(ValidationError):
        SegmentsFound.model_validate({"question_id": uuid4(), "deadline": now(), "kb_id": "a", "legs": [leg]})


@pytest.mark.parametrize("limit", [0, 0.04, 61, -1, float("nan"), float("inf")])
def test_a_time_limit_out_of_range_is_refused(limit: float) -> None:
    with pytest.raises(ValidationError):
        RetrievalSettings(time_limit=limit)


def test_a_knowledge_base_has_no_time_limit_of_its_own_by_default() -> None:
    assert RetrievalSettings().time_limit is None
