"""The answer log (Redis) and the frames that clients read from it (server-sent events).

A log entry is one line `<kind> <json>`; its number is its position from 1. Frames carry the same JSON, so a
gateway passes entries on without parsing them.
"""

from enum import StrEnum
from uuid import UUID

from pydantic import Field

from citewire.contracts.evidence import Citation, Exclusion, Leg, Quality, SearchQuery, Source
from citewire.contracts.model import Message
from citewire.contracts.provenance import Generator, Planner
from citewire.contracts.sessions import InteractionStatus


class EntryKind(StrEnum):
    """What a log entry is; `sources`, `delta` and `end` come from the generator, `stored` from the persister."""

    SOURCES = "sources"
    DELTA = "delta"
    END = "end"
    STORED = "stored"


class FrameKind(StrEnum):
    """The `event` field of a frame."""

    SOURCES = "sources"
    DELTA = "delta"
    DONE = "done"
    ERROR = "error"
    RECONNECT = "reconnect"


class SourcesFrame(Message):
    """Sent once, as soon as retrieval ends and before any text."""

    question_id: UUID
    queries: tuple[SearchQuery, ...]
    sources: tuple[Source, ...]
    legs: tuple[Leg, ...]
    quality: Quality
    degraded: str | None = None
    planner: Planner | None = None
    excluded: tuple[Exclusion, ...] = ()


class DeltaFrame(Message):
    """A piece of the answer; the pieces concatenated are the answer."""

    text: str


class DoneFrame(Message):
    """The last frame of an answer. `persisted` false: safe on the bus, not yet seen in the database.

    `planner` and `generator` are None where the answer ended before there was a plan, or a text.
    """

    session_id: UUID
    question_id: UUID
    status: InteractionStatus
    persisted: bool = False
    citations: tuple[Citation, ...] = ()
    dangling_citations: tuple[int, ...] = ()
    history_turns: int = 0
    quality: Quality | None = None
    degraded: str | None = None
    legs: tuple[Leg, ...] = ()
    planner: Planner | None = None
    generator: Generator | None = None
    elapsed_ms: dict[str, float] = Field(default_factory=dict)
