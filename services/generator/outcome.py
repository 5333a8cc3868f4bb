"""The last words of an answer: the `done` frame and the finished interaction, both made of the same parts."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from citewire.contracts.answers import DoneFrame, SourcesFrame
from citewire.contracts.events import InteractionFinished, RetrievalPlanned
from citewire.contracts.sessions import Interaction, InteractionStatus, ModelResponse, UserInput
from generator.citations.collect import Cited
from generator.draft import Draft


@dataclass(frozen=True)
class Ending:
    """How an answer ended, why so if it is not whole, and what its writer noted; no draft: nobody wrote."""

    status: InteractionStatus
    reason: str | None = None
    draft: Draft | None = None


def milliseconds(start: datetime, end: datetime) -> float:
    """The time between two moments, in milliseconds with one decimal."""
    return round((end - start) / timedelta(milliseconds=1), 1)


def done_frame(
    plan: RetrievalPlanned,
    frame: SourcesFrame | None,
    ending: Ending,
    cited: Cited,
    elapsed_ms: dict[str, float],
) -> DoneFrame:
    """The last frame of an answer; without a sources frame, it ended before any evidence was there."""
    degraded, draft = frame.degraded if frame else plan.degraded, ending.draft
    problems = draft.problems if draft else []
    turns = draft.history_turns if draft else None
    return DoneFrame(
        session_id=plan.session.session_id,
        question_id=plan.question_id,
        status=ending.status,
        citations=cited.citations,
        dangling_citations=cited.dangling,
        history_turns=len(plan.history) if turns is None else turns,
        quality=frame.quality if frame else None,
        degraded="; ".join(filter(None, [degraded, *problems, ending.reason])) or None,
        legs=frame.legs if frame else (),
        planner=plan.planner,
        generator=draft.generator if draft else None,
        elapsed_ms=elapsed_ms,
    )


def finished_interaction(
    plan: RetrievalPlanned, frame: SourcesFrame | None, text: str, done: DoneFrame, at: datetime
) -> InteractionFinished:
    """The whole outcome, as it is stored and as the asker receives it."""
    interaction = Interaction(
        question_id=plan.question_id,
        session_id=plan.session.session_id,
        status=done.status,
        user_input=UserInput(content=plan.question, at=plan.asked_at),
        model_response=ModelResponse(
            content=text, citations=done.citations, dangling_citations=done.dangling_citations, at=at
        ),
        search_queries=plan.queries,
        sources=frame.sources if frame else (),
        excluded=frame.excluded if frame else (),
        legs=done.legs,
        quality=done.quality,
        degraded=done.degraded,
        history_turns=done.history_turns,
        planner=done.planner,
        generator=done.generator,
        elapsed_ms=done.elapsed_ms,
    )
    return InteractionFinished(
        question_id=plan.question_id,
        deadline=plan.deadline,
        asker=plan.asker,
        user=plan.user,
        session=plan.session,
        interaction=interaction,
    )
