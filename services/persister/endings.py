"""How answers end when no generator ended them: overdue, half written, refused, or with an outcome that can't be kept.

Pure: from what is known of an answer to its outcome, and from an outcome to the entries that its log lacks.
"""

import json
import math
from datetime import timedelta

import orjson
from pydantic import ValidationError

from citewire.contracts.answers import DoneFrame, SourcesFrame
from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected, now
from citewire.contracts.sessions import (
    Interaction,
    InteractionStatus,
    ModelResponse,
    SessionParams,
    SessionRef,
    UserInput,
    new_session_id,
)
from citewire.text.normalise import clean_json
from citewire.text.titles import session_title


def overdue(question: QuestionAsked) -> InteractionFinished:
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
            params=SessionParams(kb_ids=tuple(dict.fromkeys(question.scope))),
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


def salvaged(
    event: InteractionFinished,
    sources: SourcesFrame | None,
    text: str,
    done: DoneFrame | None,
    *,
    is_stopped: bool,
) -> InteractionFinished:
    """A failure, or what its log has instead: the end that stands there, or else the text so far."""
    failure, status = event.interaction, InteractionStatus.FAILED
    if is_stopped:
        status = InteractionStatus.STOPPED
    elif text:
        status = InteractionStatus.INCOMPLETE
    interaction = failure.model_copy(update={"status": status, **_found(failure, sources)})
    if done is not None:
        interaction = interaction.model_copy(update=_said(done))
    citations = (done.citations, done.dangling_citations) if done else ((), ())
    response = ModelResponse(
        content=text, citations=citations[0], dangling_citations=citations[1], at=now() if text else None
    )
    return event.model_copy(update={"interaction": interaction.model_copy(update={"model_response": response})})


def _found(failure: Interaction, sources: SourcesFrame | None) -> dict[str, object]:
    """What the retrieval of an answer gave, and every reason to trust it less."""
    if sources is None:
        return {}
    return {
        "search_queries": sources.queries,
        "sources": sources.sources,
        "excluded": sources.excluded,
        "legs": sources.legs,
        "quality": sources.quality,
        "planner": sources.planner,
        "degraded": "; ".join(filter(None, (sources.degraded, failure.degraded))) or None,
    }


def _said(done: DoneFrame) -> dict[str, object]:
    """What the reader of an answer was told at its end."""
    return {
        "session_id": done.session_id,
        "status": done.status,
        "legs": done.legs,
        "quality": done.quality,
        "degraded": done.degraded,
        "history_turns": done.history_turns,
        "planner": done.planner,
        "generator": done.generator,
        "elapsed_ms": done.elapsed_ms,
    }


def unstorable(event: InteractionFinished, reason: str) -> InteractionFinished:
    """What is kept in place of an outcome that the database does not take: question and text, and that it failed."""
    interaction = Interaction(
        question_id=event.question_id,
        session_id=event.interaction.session_id,
        status=InteractionStatus.FAILED,
        user_input=event.interaction.user_input,
        model_response=ModelResponse(content=event.interaction.model_response.content),
        degraded=f"the answer could not be stored: {reason}",
        elapsed_ms=event.interaction.elapsed_ms,
    )
    return event.model_copy(update={"interaction": interaction})


def rejected(event: QuestionRejected) -> Interaction:
    """A rejected question as its user reads it."""
    return Interaction(
        question_id=event.question_id,
        session_id=new_session_id(event.question_id),
        status=InteractionStatus.FAILED,
        user_input=UserInput(content=event.question, at=event.asked_at or event.occurred_at),
        degraded=event.problem.detail or event.problem.title,
    )


def repaired(data: bytes) -> InteractionFinished | None:
    """An outcome whose JSON has what JSON may not (NaN, halves of characters), without it; None if it is none."""
    try:
        value = json.loads(data.decode(errors="replace"), parse_constant=lambda _: 0.0, parse_float=_finite)
        return InteractionFinished.model_validate_json(orjson.dumps(clean_json(value)))
    except (ValidationError, ValueError, RecursionError):
        return None


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else 0.0


def done_of(interaction: Interaction) -> DoneFrame:
    """The last frame of an answer whose outcome is known."""
    return DoneFrame(
        session_id=interaction.session_id,
        question_id=interaction.question_id,
        status=interaction.status,
        citations=interaction.model_response.citations,
        dangling_citations=interaction.model_response.dangling_citations,
        history_turns=interaction.history_turns,
        quality=interaction.quality,
        degraded=interaction.degraded,
        legs=interaction.legs,
        planner=interaction.planner,
        generator=interaction.generator,
        elapsed_ms=interaction.elapsed_ms,
    )


def sources_of(interaction: Interaction) -> SourcesFrame | None:
    """The first frame of an answer whose outcome is known; None when it ended before any retrieval."""
    if interaction.quality is None:
        return None
    return SourcesFrame(
        question_id=interaction.question_id,
        queries=interaction.search_queries,
        sources=interaction.sources,
        legs=interaction.legs,
        quality=interaction.quality,
        degraded=interaction.degraded,
        planner=interaction.planner,
        excluded=interaction.excluded,
    )
