"""What is said of a question that is not planned."""

import json
from typing import Any
from uuid import uuid4

import pytest

from autoquery.replies import MAX_FAULTS, failure, unreadable
from citewire.contracts.events import QuestionRejected, now
from planner_stage import asked

SUBJECT = "qa.v1.question.asked.shop"
QUESTION_ID = uuid4()


def rejection(data: bytes, reason: str = "unreadable") -> QuestionRejected:
    rejected = unreadable(SUBJECT, data, reason, now())
    assert rejected is not None
    return rejected


def message(**changes: Any) -> bytes:
    fields = {
        "question_id": str(QUESTION_ID),
        "deadline": "2026-01-02T03:04:05Z",
        "asker": "shop",
        "user": {"user_id": "robot"},
        "question": "Why?",
    }
    return json.dumps(fields | changes).encode()


def test_b06_a_message_without_a_user_is_rejected_with_that_field() -> None:
    rejected = rejection(json.dumps({"question_id": str(QUESTION_ID), "question": "Why?"}).encode())

    assert rejected.question_id == QUESTION_ID
    assert "user" in [error.field for error in rejected.problem.errors]


def test_the_path_of_a_wrong_field_is_told() -> None:
    rejected = rejection(message(params={"top_k": 1000}))

    assert [error.field for error in rejected.problem.errors] == ["params.top_k"]


def test_a_time_without_a_zone_is_a_wrong_field() -> None:
    rejected = rejection(message(deadline="2026-01-02T03:04:05"))

    assert [error.field for error in rejected.problem.errors] == ["deadline"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{bad json",
        b"\xff\xfe\x00",
        b"null",
        b"[]",
        b"7",
        b'{"question_id": 7}',
        b'{"question_id": "7"}',
        b'{"question_id": null}',
        b"[" * 200_000,
    ],
    ids=repr,
)
def test_b03_a_message_without_an_id_gets_one_of_its_own(data: bytes) -> None:
    first, again, other = rejection(data), rejection(data), rejection(b"x" + data)

    assert first.question_id == again.question_id
    assert first.question_id != other.question_id


def test_half_a_surrogate_pair_leaves_the_id_readable() -> None:
    data = message().replace(b"Why?", b"\\ud800")

    rejected = rejection(data)

    assert rejected.question_id == QUESTION_ID
    assert rejected.problem.errors


def test_no_more_faults_than_a_few_are_told() -> None:
    rejected = rejection(message(kb_ids=["?"] * 500), "x" * 100_000)

    assert len(rejected.problem.errors) == MAX_FAULTS
    assert len(rejected.model_dump_json()) < 10_000


def test_a_message_that_says_another_subject_than_its_own_is_rejected_where_it_was_published() -> None:
    rejected = rejection(message(asker="web"), "it says another subject than its own")

    assert rejected.full_subject == "qa.v1.question.rejected.shop"
    assert rejected.problem.detail == "it says another subject than its own"


def test_a_rejection_of_what_could_not_be_read_claims_no_question() -> None:
    assert rejection(message(question="")).fingerprint == ""


def test_nobody_is_told_where_the_subject_names_no_asker() -> None:
    assert unreadable("qa.v1.question.asked.a b", b"", "unreadable", now()) is None


def test_a_failure_opens_the_session_with_the_scope_of_the_parameters() -> None:
    event = asked(params={"kb_ids": ["handbook"]})

    outcome = failure(event, "no answer within the time limit", now())

    assert outcome.session.params.kb_ids == ("handbook",)
