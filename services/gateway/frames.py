"""Server-sent events as text, from log entries and from stored interactions."""

import orjson

from citewire.contracts.answers import DoneFrame, FrameKind, SourcesFrame
from citewire.contracts.evidence import Quality, QualityLevel
from citewire.contracts.problems import Problem
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.runtime.answer_log import escape_lines

HEARTBEAT = ":\n\n"
# Tells the client to come back with its last id, to this gateway or another.
RECONNECT = b"event: reconnect\ndata: {}\n\n"

_UNSTORED = ',"persisted":false'
_STORED = ',"persisted":true'
# Where the text is in a delta's JSON, which every writer of the log has in this form: {"text":"…"}
_TEXT = slice(len('{"text":"'), -len('"}'))


def frame(kind: str, data: str, number: int) -> str:
    """One numbered frame; `kind` is a FrameKind, `data` JSON in one line."""
    return f"id: {number}\nevent: {kind}\ndata: {data}\n\n"


def error_frame(problem: Problem, number: int) -> str:
    """The last frame of an answer that can't be given."""
    return frame(FrameKind.ERROR, escape_lines(problem.model_dump_json()), number)


def end_frame(done: str, number: int, *, persisted: bool) -> str:
    """`done`, or `error` when there is no answer at all; `done` is the log's own JSON of a DoneFrame."""
    outcome = orjson.loads(done)
    if outcome["status"] == InteractionStatus.FAILED:
        return error_frame(failure(outcome["degraded"]), number)
    if persisted:
        # The flag stands before any text of the answer, so the first occurrence is the flag.
        done = done.replace(_UNSTORED, _STORED, 1)
    return frame(FrameKind.DONE, done, number)


def failure(reason: str | None) -> Problem:
    """The problem document of a question that ended without an answer."""
    return Problem(type="answer-failed", title="The question could not be answered", status=500, detail=reason or "")


def overdue() -> Problem:
    """The problem document of a question whose time has passed and of which nobody knows the end."""
    return Problem(
        type="answer-overdue",
        title="The answer did not come in time",
        status=504,
        detail="Its time has passed, and no outcome is known yet. Read the question later, or ask again.",
    )


def sources_of(interaction: Interaction) -> str:
    """The JSON of the sources frame that a stored interaction had."""
    return escape_lines(
        SourcesFrame(
            question_id=interaction.question_id,
            queries=interaction.search_queries,
            sources=interaction.sources,
            legs=interaction.legs,
            quality=interaction.quality or Quality(level=QualityLevel.NONE, reason="not known"),
            degraded=interaction.degraded,
            excluded=interaction.excluded,
        ).model_dump_json()
    )


def done_of(interaction: Interaction) -> str:
    """The JSON of the done frame that a stored interaction had."""
    response = interaction.model_response
    return escape_lines(
        DoneFrame(
            session_id=interaction.session_id,
            question_id=interaction.question_id,
            status=interaction.status,
            citations=response.citations,
            dangling_citations=response.dangling_citations,
            history_turns=interaction.history_turns,
            quality=interaction.quality,
            degraded=interaction.degraded,
            legs=interaction.legs,
            elapsed_ms=interaction.elapsed_ms,
        ).model_dump_json()
    )


def text_in(delta: str) -> str:
    """The text in the JSON of a delta frame, as it stands there; such texts may be joined, and made a frame again."""
    return delta[_TEXT]


def delta_frame(text: str, number: int) -> str:
    """The frame of a text as `text_in` has it."""
    return f'id: {number}\nevent: delta\ndata: {{"text":"{text}"}}\n\n'


def escape_text(text: str) -> str:
    """A text as it stands in the JSON of a delta frame."""
    return escape_lines(orjson.dumps(text).decode()[1:-1])
