"""Conversations: a session's parameters, its interactions, and one interaction's record."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final
from uuid import UUID, uuid5

from pydantic import ConfigDict, Field, StringConstraints

from citewire.contracts.evidence import Citation, Exclusion, Leg, Quality, SearchQuery, Source
from citewire.contracts.filters import Filter
from citewire.contracts.model import Message
from citewire.contracts.provenance import Generator, Planner
from citewire.contracts.retrieval import RseChoice

KbId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]


# Knowledge bases of one session, and the time that one answer may take, at most.
MAX_KBS: Final = 64
LONGEST_ANSWER: Final = timedelta(hours=1)


class OutputLength(StrEnum):
    """How long an answer a model is asked for."""

    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"


class SessionParams(Message):
    """A session's parameters; a field that is not given takes its default at each question.

    `model` and `auto_query_model` empty mean: the one from the settings. `max_chat_history_tokens` counts
    tiktoken o200k_base tokens. `answer_timeout` is the time limit of one whole answer. `filters` restricts
    knowledge bases to the documents whose metadata matches.
    """

    kb_ids: tuple[KbId, ...] = Field(default=(), max_length=MAX_KBS)
    model: str = Field(default="", max_length=200)
    temperature: float = Field(default=0.2, ge=0, le=2)
    system_message: str = Field(default="", max_length=8000)
    auto_query_model: str = Field(default="", max_length=200)
    auto_query_guidance: str = Field(default="", max_length=4000)
    target_output_length: OutputLength = OutputLength.MEDIUM
    max_chat_history_tokens: int = Field(default=8000, ge=0, le=1_000_000)
    rse_params: RseChoice = Field(default_factory=dict)
    filters: dict[KbId, Filter] = Field(default_factory=dict, max_length=MAX_KBS)
    supp_id: str = Field(default="", max_length=200)
    top_k: int = Field(default=8, ge=1, le=50)
    max_queries: int = Field(default=5, ge=1, le=20)
    answer_timeout: timedelta = Field(default=timedelta(seconds=120), ge=timedelta(seconds=1), le=LONGEST_ANSWER)


class SessionParamsInput(SessionParams):
    """The same as people send it: an unknown name is an error, where one service ignores what a newer one adds."""

    model_config = ConfigDict(extra="forbid")


class InteractionStatus(StrEnum):
    """Where a question stands: the first two while it runs, the rest are final."""

    PENDING = "pending"
    STREAMING = "streaming"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    INCOMPLETE = "incomplete"


class UserInput(Message):
    """What was asked, unaltered."""

    content: str
    at: datetime


class ModelResponse(Message):
    """What was answered: `content` is the concatenation of the streamed deltas, nothing else."""

    content: str = ""
    citations: tuple[Citation, ...] = ()
    dangling_citations: tuple[int, ...] = ()
    at: datetime | None = None


class Interaction(Message):
    """One question and its outcome, as shown to its user; `elapsed_ms` has one entry per stage and `total`."""

    question_id: UUID
    session_id: UUID
    status: InteractionStatus
    user_input: UserInput
    model_response: ModelResponse = ModelResponse()
    search_queries: tuple[SearchQuery, ...] = ()
    sources: tuple[Source, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    legs: tuple[Leg, ...] = ()
    quality: Quality | None = None
    degraded: str | None = None
    history_turns: int = 0
    planner: Planner | None = None
    generator: Generator | None = None
    elapsed_ms: dict[str, float] = Field(default_factory=dict)


class Turn(Message):
    """One earlier question with its answer, as it enters the history window."""

    question: str
    answer: str


class SessionRef(Message):
    """The session that a question belongs to; `is_new` means that its first outcome creates it."""

    session_id: UUID
    is_new: bool
    title: str
    params: SessionParams


class Session(Message):
    """A session as listed: its parameters as stored, and how many interactions it has (None: not counted)."""

    session_id: UUID
    user_id: str
    title: str
    params: SessionParams
    kb_ids: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    interactions: int | None = None


def new_session_id(question_id: UUID) -> UUID:
    """The session that a question without one opens: derived, so that every service names the same."""
    return uuid5(question_id, "session")
