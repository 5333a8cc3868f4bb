"""Server-sent events as text, from log entries and from stored interactions."""

import orjson

from citewire.contracts.answers import DoneFrame, FrameKind, SourcesFrame
from citewire.contracts.evidence import Quality, QualityLevel
from citewire.contracts.problems import Problem
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.runtime.answer_log import escape_lines

HEARTBEAT = b":\n\n"
# Tells the client to come back with its last id, to this gateway or another.
RECONNECT = b"event: reconnect\ndata: {}\n\n"

_UNSTORED = ',"persisted":false'
_STORED = ',"persisted":true'


def frame(kind: str, data: str, number: int) -> str:
    """One numbered frame; `kind` is a FrameKind, `data` JSON in one line."""
    return f"id: {number}\nevent: {kind}\ndata: {data}\n\n"


def end_frame(done: str, number: int, *, persisted: bool) -> str:
    """`done`, or `error` when there is no answer at all; `done` is the log's own JSON of a DoneFrame."""
    outcome = orjson.loads(done)
    if outcome["status"] == InteractionStatus.FAILED:
        return frame(FrameKind.ERROR, escape_lines(failure(outcome["degraded"]).model_dump_json()), number)
    if persisted:
        # The flag stands before any text of the answer, so the first occurrence is the flag.
        done = done.replace(_UNSTORED, _STORED, 1)
    return frame(FrameKind.DONE, done, number)


def failure(reason: str | None) -> Problem:
    """The problem document of a question that ended without an answer."""
    return Problem(type="answer-failed", title="The question could not be answered", status=500, detail=reason or "")


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


def delta_of(text: str) -> str:
    """The JSON of a delta frame."""
    return escape_lines(orjson.dumps({"text": text}).decode())


def text_of(deltas: list[str]) -> str:
    """The text that the JSON of several delta frames adds up to."""
    return "".join(orjson.loads(delta)["text"] for delta in deltas)
