"""Request/reply: what services ask the owners of data, over core NATS.

A request class names its subject and its reply; an owner answers with the reply or with a problem.
"""

from typing import ClassVar, Generic, TypeVar
from uuid import UUID

from pydantic import Field

from citewire.contracts.evidence import ExplainedHit, Leg, Segment, SourceState
from citewire.contracts.filters import Filter
from citewire.contracts.identity import User
from citewire.contracts.knowledge import (
    DEFAULT_POOL,
    Contexts,
    Document,
    DocumentStatus,
    Embedding,
    KnowledgeBase,
    KnowledgeBaseChanges,
    Metadata,
    NewKnowledgeBase,
    PageText,
)
from citewire.contracts.model import Message
from citewire.contracts.problems import Problem
from citewire.contracts.retrieval import RetrievalMode, RseChoice
from citewire.contracts.sessions import Interaction, KbId, Session, SessionParams, Turn


class Reply(Message):
    """Base of every reply."""


class Done(Reply):
    """The change was made."""


class Refused(Message):
    """The envelope of a reply that is a problem."""

    problem: Problem


R = TypeVar("R", bound=Reply)

# Earlier questions that a search takes into account at most.
MAX_CONTEXT = 8


class Request(Message, Generic[R]):
    """Base of every request: `subject` and `tokens()` say who answers, `reply` with what."""

    subject: ClassVar[str]
    reply: ClassVar[type[Reply]]

    def tokens(self) -> tuple[str, ...]:
        """The variable tokens of this request's subject."""
        return ()

    @property
    def full_subject(self) -> str:
        """The subject that this request is sent to."""
        return ".".join((self.subject, *self.tokens()))


class SessionContext(Reply):
    """What a follow-up needs of its session: the session, and its newest turns, oldest first."""

    session: Session
    turns: tuple[Turn, ...] = ()


class GetSessionContext(Request[SessionContext]):
    """A session of this user with at most `turns` newest finished turns; 404 when it is not theirs."""

    subject: ClassVar[str] = "sessions.v1.context"
    reply: ClassVar[type[Reply]] = SessionContext

    session_id: UUID
    user_id: str
    turns: int = 0


class SessionReply(Reply):
    """One session."""

    session: Session


class CreateSession(Request[SessionReply]):
    """Create a session before its first question; an empty title is taken from that question later."""

    subject: ClassVar[str] = "sessions.v1.create"
    reply: ClassVar[type[Reply]] = SessionReply

    session_id: UUID
    user_id: str
    title: str = ""
    params: SessionParams


class RenameSession(Request[SessionReply]):
    """Give a session another title; 404 when it is not this user's."""

    subject: ClassVar[str] = "sessions.v1.rename"
    reply: ClassVar[type[Reply]] = SessionReply

    session_id: UUID
    user_id: str
    title: str


class DeleteSession(Request[Done]):
    """Delete a session with its interactions; 404 when it is not this user's."""

    subject: ClassVar[str] = "sessions.v1.delete"
    reply: ClassVar[type[Reply]] = Done

    session_id: UUID
    user_id: str


class SessionPage(Reply):
    """Sessions, newest change first; `next_cursor` continues, None ends."""

    sessions: tuple[Session, ...]
    next_cursor: str | None = None


class ListSessions(Request[SessionPage]):
    """This user's sessions, filtered by label and by text in title or questions."""

    subject: ClassVar[str] = "sessions.v1.list"
    reply: ClassVar[type[Reply]] = SessionPage

    user_id: str
    supp_id: str | None = None
    text: str | None = None
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = None


class InteractionPage(Reply):
    """A session with a page of its interactions, oldest first."""

    session: Session
    interactions: tuple[Interaction, ...]
    next_cursor: str | None = None


class ReadSession(Request[InteractionPage]):
    """A session of this user with its interactions."""

    subject: ClassVar[str] = "sessions.v1.read"
    reply: ClassVar[type[Reply]] = InteractionPage

    session_id: UUID
    user_id: str
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = None


class InteractionReply(Reply):
    """One interaction; `fingerprint` is that of its question, empty while only the outcome is on record."""

    interaction: Interaction
    fingerprint: str = ""


class GetInteraction(Request[InteractionReply]):
    """The stored outcome of a question of this user; a question on record without an outcome is pending."""

    subject: ClassVar[str] = "interactions.v1.get"
    reply: ClassVar[type[Reply]] = InteractionReply

    question_id: UUID
    user_id: str


class ReplayOutcome(Request[Done]):
    """Publish the recorded outcome (or rejection) of a question of this asker again; 404 when there is none."""

    subject: ClassVar[str] = "interactions.v1.replay"
    reply: ClassVar[type[Reply]] = Done

    question_id: UUID
    asker: str


class KnowledgeBaseReply(Reply):
    """One knowledge base."""

    kb: KnowledgeBase


class KnowledgeRequest(Request[R], Generic[R]):
    """Base of what is asked about knowledge: the owner checks that `user` may; what they may not see is not found."""

    user: User


class CreateKnowledgeBase(KnowledgeRequest[KnowledgeBaseReply]):
    """Create a knowledge base; 409 when the id is taken."""

    subject: ClassVar[str] = "kb.v1.create"
    reply: ClassVar[type[Reply]] = KnowledgeBaseReply

    kb: NewKnowledgeBase


class UpdateKnowledgeBase(KnowledgeRequest[KnowledgeBaseReply]):
    """Change some settings of a knowledge base; what is derived from them follows in the background."""

    subject: ClassVar[str] = "kb.v1.update"
    reply: ClassVar[type[Reply]] = KnowledgeBaseReply

    kb_id: KbId
    changes: KnowledgeBaseChanges


class EmbeddingReply(Reply):
    """How far a knowledge base is embedded."""

    embedding: Embedding


class GetEmbedding(KnowledgeRequest[EmbeddingReply]):
    """How far a knowledge base is embedded; 404 when there is none."""

    subject: ClassVar[str] = "kb.v1.embedding"
    reply: ClassVar[type[Reply]] = EmbeddingReply

    kb_id: KbId


class ContextsReply(Reply):
    """How far the summaries of a knowledge base's documents are."""

    contexts: Contexts


class GetContexts(KnowledgeRequest[ContextsReply]):
    """How far the summaries of a knowledge base's documents are; 404 when there is none."""

    subject: ClassVar[str] = "kb.v1.contexts"
    reply: ClassVar[type[Reply]] = ContextsReply

    kb_id: KbId


class SummariseDocuments(KnowledgeRequest[ContextsReply]):
    """Have a model summarise the documents that have plain headers; 409 when no model may be asked."""

    subject: ClassVar[str] = "kb.v1.summarise"
    reply: ClassVar[type[Reply]] = ContextsReply

    kb_id: KbId


class RemoveKnowledgeBase(KnowledgeRequest[Done]):
    """Remove a knowledge base and its documents; 404 when there is none."""

    subject: ClassVar[str] = "kb.v1.remove"
    reply: ClassVar[type[Reply]] = Done

    kb_id: KbId


class DocumentReply(Reply):
    """One document."""

    document: Document


class SubmitDocument(KnowledgeRequest[DocumentReply]):
    """Take a file from the upload bucket into a knowledge base; the same file name is a new version."""

    subject: ClassVar[str] = "kb.v1.documents.submit"
    reply: ClassVar[type[Reply]] = DocumentReply

    kb_id: KbId
    file_name: str
    upload: str
    metadata: Metadata = Field(default_factory=dict)


class GetDocument(KnowledgeRequest[DocumentReply]):
    """One document and where its newest upload stands."""

    subject: ClassVar[str] = "kb.v1.documents.get"
    reply: ClassVar[type[Reply]] = DocumentReply

    kb_id: KbId
    doc_id: UUID


class DocumentList(Reply):
    """Documents by file name; `next_cursor` continues, None ends."""

    documents: tuple[Document, ...]
    next_cursor: str | None = None


class ListDocuments(KnowledgeRequest[DocumentList]):
    """The documents of a knowledge base that are not removed: all, or those with a status."""

    subject: ClassVar[str] = "kb.v1.documents.list"
    reply: ClassVar[type[Reply]] = DocumentList

    kb_id: KbId
    status: DocumentStatus | None = None
    limit: int = Field(default=100, ge=1, le=500)
    cursor: str | None = None


class RemoveDocument(KnowledgeRequest[Done]):
    """Remove a document: from now on no search returns it."""

    subject: ClassVar[str] = "kb.v1.documents.remove"
    reply: ClassVar[type[Reply]] = Done

    kb_id: KbId
    doc_id: UUID


class PageReply(Reply):
    """One page's text."""

    page: PageText


class ReadPage(KnowledgeRequest[PageReply]):
    """A page of a document's searched version; without `number` the whole text of a document without pages."""

    subject: ClassVar[str] = "kb.v1.documents.page"
    reply: ClassVar[type[Reply]] = PageReply

    kb_id: KbId
    doc_id: UUID
    number: int | None = None


class DocumentVersion(Message):
    """A document as it once was."""

    kb_id: str
    doc_id: UUID
    version: int


class DocumentStates(Reply):
    """What has become of documents, in the order of the request."""

    states: tuple[SourceState, ...]


class CheckDocuments(KnowledgeRequest[DocumentStates]):
    """Whether these versions are still the current ones, and may be read by this user."""

    subject: ClassVar[str] = "kb.v1.documents.check"
    reply: ClassVar[type[Reply]] = DocumentStates

    documents: tuple[DocumentVersion, ...]


class SearchReply(Reply):
    """Segments, best first; `explained` has every chunk that a leg found, best first, when it was asked for."""

    segments: tuple[Segment, ...]
    legs: tuple[Leg, ...]
    explained: tuple[ExplainedHit, ...] = ()


class Search(KnowledgeRequest[SearchReply]):
    """Retrieval alone, without an answer; `context` holds earlier questions, `mode` replaces the setting."""

    subject: ClassVar[str] = "kb.v1.search"
    reply: ClassVar[type[Reply]] = SearchReply

    kb_id: KbId
    query: str
    context: tuple[str, ...] = Field(default=(), max_length=MAX_CONTEXT)
    top_k: int = Field(default=8, ge=1, le=50)
    filter: Filter | None = None
    mode: RetrievalMode | None = None
    rse_params: RseChoice = Field(default_factory=dict)
    explain: bool = False
    pool: str = DEFAULT_POOL

    def tokens(self) -> tuple[str, ...]:
        return (self.pool,)


class Retried(Reply):
    """A retry has not failed; `is_handled` is false while it still runs."""

    is_handled: bool


class RetryDeadLetter(Request[Retried]):
    """Handle a message that was set aside once more, and drop its letter when that succeeds.

    404 when the letter is gone, 409 with the reason when it can't be handled.
    """

    subject: ClassVar[str] = "dead-letters.v1.retry"
    reply: ClassVar[type[Reply]] = Retried

    consumer: str = Field(pattern=r"^[A-Za-z0-9_-]+$")
    sequence: int = Field(ge=1)

    def tokens(self) -> tuple[str, ...]:
        return (self.consumer,)


REQUESTS: tuple[type[Request[Reply]], ...] = (
    GetSessionContext,
    CreateSession,
    RenameSession,
    DeleteSession,
    ListSessions,
    ReadSession,
    GetInteraction,
    ReplayOutcome,
    CreateKnowledgeBase,
    UpdateKnowledgeBase,
    GetEmbedding,
    GetContexts,
    SummariseDocuments,
    RemoveKnowledgeBase,
    SubmitDocument,
    GetDocument,
    ListDocuments,
    RemoveDocument,
    ReadPage,
    CheckDocuments,
    Search,
    RetryDeadLetter,
)  # type: ignore[assignment]
