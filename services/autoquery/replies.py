"""What the planner says of a question instead of planning it: rejected, failed, or stopped. Pure."""

import json
from datetime import datetime, timedelta
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import ValidationError

from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected, RetrievalPlanned
from citewire.contracts.problems import FieldError, Problem
from citewire.contracts.sessions import (
    Interaction,
    InteractionStatus,
    SessionParams,
    SessionRef,
    UserInput,
    new_session_id,
)
from citewire.text.normalise import clean
from citewire.text.titles import session_title

# Faults of an unreadable message that are told, and characters of each and of all together.
MAX_FAULTS = 20
MAX_FAULT = 200
MAX_REASON = 2000


def rejection(event: QuestionAsked, fingerprint: str, problem: Problem) -> QuestionRejected:
    """A question that is not answered, and why."""
    return QuestionRejected(
        question_id=event.question_id,
        deadline=event.deadline,
        asker=event.asker,
        user=event.user,
        question=event.question,
        fingerprint=fingerprint,
        asked_at=event.occurred_at,
        problem=problem,
        retry_after=problem.retry_after,
    )


def unreadable(subject: str, data: bytes, reason: str, at: datetime) -> QuestionRejected | None:
    """The rejection of a message that is no question, under the id that it names, else under one of its own.

    None where the subject names no asker that could be told.
    """
    try:
        return QuestionRejected(
            question_id=_named_id(data) or uuid5(NAMESPACE_URL, f"{subject}/{data.hex()}"),
            deadline=at,
            occurred_at=at,
            asker=subject.rpartition(".")[2],
            problem=Problem(
                type="invalid-input",
                title="This is not a question",
                status=422,
                detail=clean(reason)[:MAX_REASON],
                errors=_field_errors(data),
            ),
        )
    except ValidationError:
        return None


def failure(event: QuestionAsked, reason: str, at: datetime) -> InteractionFinished:
    """The outcome of a question that was not planned."""
    session = _session_of(event)
    return InteractionFinished(
        question_id=event.question_id,
        deadline=event.deadline,
        asker=event.asker,
        user=event.user,
        session=session,
        interaction=Interaction(
            question_id=event.question_id,
            session_id=session.session_id,
            status=InteractionStatus.FAILED,
            user_input=UserInput(content=event.question, at=event.occurred_at),
            degraded=reason,
            elapsed_ms={"total": (at - event.occurred_at) / timedelta(milliseconds=1)},
        ),
    )


def plan_of_nothing(event: QuestionAsked) -> RetrievalPlanned:
    """The plan of a question that is stopped already: nothing is searched, and the generator ends it as stopped."""
    return RetrievalPlanned(
        question_id=event.question_id,
        deadline=event.deadline,
        asker=event.asker,
        user=event.user,
        asked_at=event.occurred_at,
        question=event.question,
        session=_session_of(event),
        params=event.params or SessionParams(),
    )


def _session_of(event: QuestionAsked) -> SessionRef:
    """The session of a question whose own, if it has one, was not looked at."""
    return SessionRef(
        session_id=event.session_id or new_session_id(event.question_id),
        is_new=event.session_id is None,
        title=session_title(event.question),
        params=SessionParams(kb_ids=event.scope),
    )


def _named_id(data: bytes) -> UUID | None:
    """The question id in what may be JSON."""
    try:
        # Reads more than the contracts do, such as text with half a surrogate pair.
        message = json.loads(data)
        return UUID(message["question_id"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _field_errors(data: bytes) -> tuple[FieldError, ...]:
    try:
        QuestionAsked.model_validate_json(data)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)[:MAX_FAULTS]
        return tuple(
            FieldError(
                field=clean(".".join(map(str, fault["loc"])))[:MAX_FAULT], message=clean(fault["msg"])[:MAX_FAULT]
            )
            for fault in faults
        )
    return ()
