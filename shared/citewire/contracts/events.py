"""The facts that services tell each other over JetStream: one class per subject.

An event's id derives from its cause, so a handler that runs twice publishes the same id and the stream
drops the second. Removing or re-meaning a field takes a new class on a `v2` subject.
"""

import hashlib
import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import AwareDatetime, Field, StringConstraints

from citewire.contracts.evidence import Exclusion, Leg, SearchQuery, Segment
from citewire.contracts.filters import Filter
from citewire.contracts.identity import User, service_user
from citewire.contracts.knowledge import DEFAULT_POOL, Metadata
from citewire.contracts.model import Message
from citewire.contracts.problems import Problem
from citewire.contracts.provenance import Planner
from citewire.contracts.retrieval import RseChoice
from citewire.contracts.sessions import MAX_KBS, Interaction, KbId, SessionParams, SessionRef, Turn

# One token of a NATS subject: the identity of the publisher, and the only one that it may publish under.
Asker = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]

MAX_QUESTION_CHARACTERS = 4000

# Text is cleaned of control characters on its way, and stays the same question.
_NO_CONTROLS: Final = dict.fromkeys(range(0x20))


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


class Event(Message):
    """Base of every event: `subject` is the prefix, `tokens()` what follows it."""

    subject: ClassVar[str]

    question_id: UUID
    deadline: AwareDatetime
    occurred_at: AwareDatetime = Field(default_factory=now)

    def tokens(self) -> tuple[str, ...]:
        """The variable tokens of this event's subject."""
        return ()

    @property
    def full_subject(self) -> str:
        """The subject that this event is published on."""
        return ".".join((self.subject, *self.tokens()))

    @property
    def event_id(self) -> UUID:
        """The id that de-duplicates publications: derived from the question and the subject."""
        return uuid5(self.question_id, self.full_subject)


class QuestionAsked(Event):
    """Somebody asked. `kb_ids` is the scope of a new session; with `session_id` it must be None or equal.

    The deadline lies at most an hour (`LONGEST_ANSWER`) ahead.
    `params`, when given, replace the session's stored ones for this question only. `user` counts only from an asker
    that is trusted to say who asks (`asked_by`).
    """

    subject: ClassVar[str] = "qa.v1.question.asked"

    asker: Asker
    user: User
    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)
    session_id: UUID | None = None
    kb_ids: tuple[KbId, ...] | None = Field(default=None, max_length=MAX_KBS)
    params: SessionParams | None = None

    def tokens(self) -> tuple[str, ...]:
        return (self.asker,)

    @property
    def scope(self) -> tuple[KbId, ...]:
        """The knowledge bases that it names: on its own, or in its parameters."""
        if self.kb_ids is not None:
            return self.kb_ids
        return self.params.kb_ids if self.params else ()

    @property
    def fingerprint(self) -> str:
        """What makes two questions with one id the same: a SHA-256 in hex of what is asked, by whom and of what.

        Control characters and parameters at their defaults do not count, nor do times.
        """
        asked = {
            "asker": self.asker,
            "user_id": self.user.user_id,
            "question": self.question.translate(_NO_CONTROLS),
            "session_id": self.session_id and str(self.session_id),
            "kb_ids": self.kb_ids,
            "params": self.params and self.params.model_dump(mode="json", exclude_defaults=True),
        }
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def asked_by(self, trusted: Collection[str]) -> User:
        """Who asks: the event's user if its asker is one of `trusted`, else the asker itself, a plain user."""
        return self.user if self.asker in trusted else service_user(self.asker)


class QuestionRejected(Event):
    """The question was not accepted, and why; nothing was stored but the audit row.

    `fingerprint` is the rejected question's, empty for one that could not be read: only a question on record with the
    same one is meant. `retry_after` is the problem's, in seconds: when another try may succeed, under another id.
    """

    subject: ClassVar[str] = "qa.v1.question.rejected"

    asker: Asker
    user: User | None = None
    question: str = ""
    fingerprint: str = ""
    asked_at: datetime | None = None
    problem: Problem
    retry_after: float | None = None

    def tokens(self) -> tuple[str, ...]:
        return (self.asker,)

    @property
    def event_id(self) -> UUID:
        # Who asks again, or asks something else under the same id, is told again.
        return uuid5(self.question_id, f"{self.full_subject}/{self.fingerprint}/{self.asked_at}")


class RetrievalPlanned(Event):
    """What will be searched: the generator waits for one `SegmentsFound` from each of `kb_ids`.

    `kb_limits` has the times until which it waits for knowledge bases that have a time limit of their own.
    """

    subject: ClassVar[str] = "qa.v1.retrieval.planned"

    asker: Asker
    user: User
    asked_at: datetime
    question: str
    session: SessionRef
    params: SessionParams
    history: tuple[Turn, ...] = ()
    queries: tuple[SearchQuery, ...] = ()
    kb_ids: tuple[str, ...] = ()
    kb_limits: dict[str, datetime] = Field(default_factory=dict)
    planner: Planner = Planner()
    degraded: str | None = None

    @property
    def asked(self) -> str:
        """The question as it stands alone."""
        return self.planner.rewritten_question or self.question

    @property
    def event_id(self) -> UUID:
        return uuid5(self.question_id, self.subject)


class RetrievalRequested(Event):
    """Search one knowledge base with these queries; answer within `deadline` or not at all.

    `user` is checked against the knowledge base's access; `is_alone` says that no other one is searched beside it.
    """

    subject: ClassVar[str] = "qa.v1.retrieval.requested"

    kb_id: KbId
    pool: str = DEFAULT_POOL
    queries: tuple[SearchQuery, ...]
    top_k: int
    user: User | None = None
    filter: Filter | None = None
    rse_params: RseChoice = Field(default_factory=dict)
    is_alone: bool = False

    def tokens(self) -> tuple[str, ...]:
        return (self.pool, self.kb_id)


class SegmentsFound(Event):
    """What one knowledge base gave, best first; a failed search has `error` and no segments."""

    subject: ClassVar[str] = "qa.v1.segments.found"

    kb_id: KbId
    segments: tuple[Segment, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    legs: tuple[Leg, ...] = ()
    error: str | None = None

    def tokens(self) -> tuple[str, ...]:
        return (str(self.question_id), self.kb_id)


class InteractionFinished(Event):
    """The outcome of a question, complete: whoever stores or receives it needs nothing else."""

    subject: ClassVar[str] = "qa.v1.interaction.finished"

    asker: Asker
    user: User
    session: SessionRef
    interaction: Interaction

    def tokens(self) -> tuple[str, ...]:
        return (self.asker,)


class DocumentEvent(Message):
    """Base of what happens to documents."""

    subject: ClassVar[str]

    kb_id: KbId
    doc_id: UUID
    version: int
    occurred_at: datetime = Field(default_factory=now)

    @property
    def full_subject(self) -> str:
        """The subject that this event is published on."""
        return f"{self.subject}.{self.kb_id}"

    @property
    def event_id(self) -> UUID:
        """Derived from document, version and subject."""
        return uuid5(self.doc_id, f"{self.subject}/{self.version}")


class DocumentOffered(Message):
    """Another service's upload: a file in the upload bucket under `upload`, for a knowledge base.

    What becomes of it is told by the events of the document of this file name.
    """

    subject: ClassVar[str] = "kb.v1.document.offered"

    kb_id: KbId
    upload: str
    file_name: str
    metadata: Metadata = Field(default_factory=dict)

    @property
    def full_subject(self) -> str:
        """The subject that this event is published on."""
        return f"{self.subject}.{self.kb_id}"

    @property
    def event_id(self) -> UUID:
        """Derived from the upload, which is used once."""
        return uuid5(NAMESPACE_URL, f"{self.full_subject}/{self.upload}")


class DocumentSubmitted(DocumentEvent):
    """A file waits in the upload bucket under `upload`; `version` is the one it will become."""

    subject: ClassVar[str] = "kb.v1.document.submitted"

    upload: str
    file_name: str
    metadata: Metadata = Field(default_factory=dict)


class DocumentIndexed(DocumentEvent):
    """A version became the current one, complete and searchable."""

    subject: ClassVar[str] = "kb.v1.document.indexed"


class DocumentFailed(DocumentEvent):
    """An upload could not be read, and why; the version before it, if any, stays searched."""

    subject: ClassVar[str] = "kb.v1.document.failed"

    file_name: str
    reason: str


class DocumentRemoved(DocumentEvent):
    """A document is gone from every answer from now on."""

    subject: ClassVar[str] = "kb.v1.document.removed"


EVENTS: tuple[type[Event] | type[DocumentEvent] | type[DocumentOffered], ...] = (
    QuestionAsked,
    QuestionRejected,
    RetrievalPlanned,
    RetrievalRequested,
    SegmentsFound,
    InteractionFinished,
    DocumentOffered,
    DocumentSubmitted,
    DocumentIndexed,
    DocumentFailed,
    DocumentRemoved,
)
