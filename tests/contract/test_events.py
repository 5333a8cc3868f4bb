"""What every reader and writer of events may rely on."""

from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from citewire.contracts.events import EVENTS, DocumentSubmitted, InteractionFinished, RetrievalPlanned, SegmentsFound
from citewire.contracts.requests import REQUESTS
from contract.payloads import FIRST_PAYLOADS

each_event = pytest.mark.parametrize("event_class", EVENTS, ids=lambda event: event.__name__)


def first(event_class: Any, **changes: Any) -> Any:
    return event_class.model_validate(FIRST_PAYLOADS[event_class.__name__] | changes)


def test_every_subject_belongs_to_one_class() -> None:
    subjects = [message.subject for message in (*EVENTS, *REQUESTS)]

    assert len(set(subjects)) == len(subjects)


def test_every_event_has_its_first_payload() -> None:
    assert set(FIRST_PAYLOADS) == {event.__name__ for event in EVENTS}


@each_event
def test_an_old_payload_is_still_read(event_class: Any) -> None:
    event = first(event_class)

    assert event.full_subject.startswith(event_class.subject)


@each_event
def test_what_is_written_is_read_back_the_same(event_class: Any) -> None:
    event = first(event_class)

    assert event_class.model_validate_json(event.model_dump_json()) == event


@each_event
def test_a_field_of_a_later_release_is_ignored(event_class: Any) -> None:
    fixed = {"occurred_at": "2026-01-02T03:04:05Z"}

    assert first(event_class, **fixed, field_of_tomorrow={"a": 1}) == first(event_class, **fixed)


def test_a_later_session_parameter_is_ignored() -> None:
    event = first(RetrievalPlanned, params={"top_k": 3, "parameter_of_tomorrow": 1})

    assert event.params.top_k == 3


def test_a_later_field_inside_a_part_is_ignored() -> None:
    leg = {"kb_id": "handbook", "leg": "lexical", "field_of_tomorrow": 1}

    event = first(SegmentsFound, legs=[leg])

    assert event.legs[0].leg == "lexical"


@each_event
def test_an_event_does_not_change(event_class: Any) -> None:
    event = first(event_class)
    name = next(iter(event_class.model_fields))

    with pytest.raises(ValidationError, match="frozen"):
        setattr(event, name, getattr(event, name))


@each_event
def test_the_same_cause_gives_the_same_event_id(event_class: Any) -> None:
    assert first(event_class).event_id == first(event_class).event_id


def test_events_of_one_question_have_different_ids() -> None:
    events = [event for event in EVENTS if "question_id" in event.model_fields]

    assert len({first(event).event_id for event in events}) == len(events)


@pytest.mark.parametrize("name", ["RetrievalRequested", "SegmentsFound"])
def test_another_knowledge_base_gives_another_event_id(name: str) -> None:
    event_class = next(event for event in EVENTS if event.__name__ == name)

    assert first(event_class, kb_id="baike").event_id != first(event_class).event_id


def test_another_version_of_a_document_gives_another_event_id() -> None:
    assert first(DocumentSubmitted, version=2).event_id != first(DocumentSubmitted).event_id


def test_two_outcomes_of_one_question_have_the_same_event_id() -> None:
    finished = FIRST_PAYLOADS["InteractionFinished"]["interaction"]

    failed = first(InteractionFinished, interaction={**finished, "status": "failed"})

    assert failed.event_id == first(InteractionFinished).event_id


def test_another_question_gives_another_event_id() -> None:
    assert first(InteractionFinished, question_id=str(uuid4())).event_id != first(InteractionFinished).event_id
