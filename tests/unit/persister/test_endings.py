"""The outcome of an answer that no generator ended, and the frames of an outcome that no log has."""

from uuid import UUID

import pytest

from citewire.contracts.answers import DoneFrame, SourcesFrame
from citewire.contracts.evidence import Quality, QualityLevel
from citewire.contracts.sessions import InteractionStatus, ModelResponse
from conversations import FAILED, asked, citation, outcome, outcome_of, rejected
from persister.endings import (
    done_of,
    overdue,
    repaired,
    salvaged,
    sources_of,
    unstorable,
)
from persister.endings import (
    rejected as rejection_of,
)

WEAK = Quality(level=QualityLevel.WEAK, reason="Little is said of it.")


def sources_frame(question_id: UUID, degraded: str | None = None) -> SourcesFrame:
    return SourcesFrame(question_id=question_id, queries=(), sources=(), legs=(), quality=WEAK, degraded=degraded)


def test_every_outcome_of_a_question_has_the_same_event_id() -> None:
    question = asked()

    assert overdue(question).event_id == outcome_of(question).event_id


@pytest.mark.parametrize(
    ("text", "is_stopped", "status"),
    [
        ("", False, InteractionStatus.FAILED),
        ("Ten", False, InteractionStatus.INCOMPLETE),
        ("Ten", True, InteractionStatus.STOPPED),
        ("", True, InteractionStatus.STOPPED),
    ],
)
def test_what_was_written_decides_how_a_broken_answer_ends(
    text: str, is_stopped: bool, status: InteractionStatus
) -> None:
    failure = overdue(asked())

    event = salvaged(failure, None, text, None, is_stopped=is_stopped)

    assert (event.interaction.status, event.interaction.model_response.content) == (status, text)


def test_a_broken_answer_keeps_every_reason_to_trust_it_less() -> None:
    failure = outcome("", **FAILED)
    sources = sources_frame(failure.question_id, "kb: no answer in time")

    event = salvaged(failure, sources, "Ten", None, is_stopped=False)

    assert event.interaction.degraded == "kb: no answer in time; the model is away"
    assert event.interaction.quality == WEAK


def test_an_end_that_was_written_is_the_outcome_with_all_that_it_says() -> None:
    failure = outcome("", **FAILED)
    ended = outcome("Ten metres.", citations=(citation(1),), history_turns=2, quality=WEAK).interaction
    done = DoneFrame.model_validate(done_of(ended).model_dump() | {"question_id": failure.question_id})
    sources = sources_frame(failure.question_id)

    event = salvaged(failure, sources, "Ten metres.", done, is_stopped=True)

    assert event.interaction.status is InteractionStatus.FINISHED
    assert event.interaction.model_response.citations == ended.model_response.citations
    assert done_of(event.interaction) == done


def test_what_the_database_does_not_take_leaves_question_and_text() -> None:
    event = outcome("Ten metres.", citations=(citation(1),))

    kept = unstorable(event, "no").interaction

    assert kept.user_input == event.interaction.user_input
    assert kept.model_response == ModelResponse(content="Ten metres.")
    assert (kept.status, kept.degraded) == (InteractionStatus.FAILED, "the answer could not be stored: no")


def test_a_rejected_question_reads_as_failed_with_the_reason() -> None:
    interaction = rejection_of(rejected(asked()))

    assert (interaction.status, interaction.degraded) == (InteractionStatus.FAILED, "There is no such session.")


def test_an_outcome_without_retrieval_has_no_sources_frame() -> None:
    assert sources_of(outcome("", **FAILED).interaction) is None


def test_a_good_outcome_is_repaired_to_itself() -> None:
    event = outcome(citations=(citation(1, "😀"),))

    assert repaired(event.model_dump_json().encode()) == event


@pytest.mark.parametrize("data", [b"", b"{bad json", b"[]", b'"text"', b"{}", b"[" * 100_000])
def test_what_is_no_outcome_cannot_be_repaired(data: bytes) -> None:
    assert repaired(data) is None
