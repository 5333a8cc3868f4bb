"""The outcome of a question that nobody ended, and the end of a log that nobody wrote (pure)."""

from datetime import timedelta

from citewire.contracts.answers import DoneFrame
from citewire.contracts.events import InteractionFinished, QuestionAsked, now
from citewire.contracts.sessions import (
    Interaction,
    InteractionStatus,
    SessionParams,
    SessionRef,
    UserInput,
    new_session_id,
)
from citewire.text.titles import session_title


def expired(question: QuestionAsked) -> InteractionFinished:
    """The outcome of a question whose time is over; the same event id as any other outcome of it."""
    session_id = question.session_id or new_session_id(question.question_id)
    return InteractionFinished(
        question_id=question.question_id,
        deadline=question.deadline,
        asker=question.asker,
        user=question.user,
        session=SessionRef(
            session_id=session_id,
            is_new=question.session_id is None,
            title=session_title(question.question),
            params=SessionParams(kb_ids=question.kb_ids or ()),
        ),
        interaction=Interaction(
            question_id=question.question_id,
            session_id=session_id,
            status=InteractionStatus.FAILED,
            user_input=UserInput(content=question.question, at=question.occurred_at),
            degraded="no answer within the time limit",
            elapsed_ms={"total": (now() - question.occurred_at) / timedelta(milliseconds=1)},
        ),
    )


def end_of(interaction: Interaction) -> DoneFrame:
    """The `done` frame of a failed interaction."""
    return DoneFrame(
        session_id=interaction.session_id,
        question_id=interaction.question_id,
        status=InteractionStatus.FAILED,
        degraded=interaction.degraded,
        elapsed_ms=interaction.elapsed_ms,
    )
