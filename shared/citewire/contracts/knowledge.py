"""Knowledge bases and documents, as everyone but their owner sees them."""

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from citewire.contracts.evidence import PageSpan
from citewire.contracts.filters import (
    FieldName,
    FieldType,
    Filter,
    FilterProblem,
    MetadataSchema,
    Value,
    check_filter,
)
from citewire.contracts.identity import Role, User
from citewire.contracts.model import Input, Message
from citewire.contracts.provenance import Usage
from citewire.contracts.retrieval import RetrievalSettings
from citewire.contracts.sessions import KbId

BUNDLED_EMBEDDER = "e5"
NO_EMBEDDER = "none"
DEFAULT_POOL = "default"

Metadata = dict[FieldName, Value]
# The name of an embedder or reranker that the operator has set up, or of a pool of retrievers.
SetUpName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]


class Access(Input):
    """Who may read and ask: everyone who is signed in, or the users and groups named here."""

    everyone: bool = True
    users: tuple[str, ...] = Field(default=(), max_length=1000)
    groups: tuple[str, ...] = Field(default=(), max_length=1000)


class KnowledgeBaseSettings(Input):
    """What may be set of a knowledge base; `language` is a BCP 47 tag or empty for mixed.

    `owner` manages it beside the administrators (empty: they alone); `reranker` empty means none; `pool` names the
    retrievers that serve it.
    """

    title: str = Field(min_length=1, max_length=200)
    description: str = Field(default="", max_length=2000)
    language: str = Field(default="", max_length=35)
    owner: str = Field(default="", max_length=200)
    access: Access = Access()
    metadata_schema: MetadataSchema = Field(default_factory=dict)
    retrieval: RetrievalSettings = RetrievalSettings()
    embedder: SetUpName = BUNDLED_EMBEDDER
    reranker: SetUpName | Literal[""] = ""
    pool: SetUpName = DEFAULT_POOL


class KnowledgeBaseChanges(Input):
    """Other values for some settings; what is None stays as it is, so two changes of different fields both hold."""

    title: str | None = Field(default=None, min_length=1, max_length=200)
    description: str | None = Field(default=None, max_length=2000)
    language: str | None = Field(default=None, max_length=35)
    owner: str | None = Field(default=None, max_length=200)
    access: Access | None = None
    metadata_schema: MetadataSchema | None = None
    retrieval: RetrievalSettings | None = None
    embedder: SetUpName | None = None
    reranker: SetUpName | Literal[""] | None = None
    pool: SetUpName | None = None


class NewKnowledgeBase(KnowledgeBaseSettings):
    """What it takes to create a knowledge base."""

    kb_id: KbId


class Embedding(Message):
    """How far a knowledge base is embedded: chunks with a vector, by which model; `reason` says what stops it."""

    model: str = ""
    dimension: int | None = None
    chunks: int = 0
    reason: str | None = None


class KnowledgeBase(Message):
    """A knowledge base as the register has it; `revision` grows with each change of its documents or settings."""

    kb_id: str
    title: str
    description: str = ""
    language: str = ""
    owner: str = ""
    access: Access = Access()
    metadata_schema: dict[str, FieldType] = Field(default_factory=dict)
    retrieval: RetrievalSettings = RetrievalSettings()
    embedder: str = BUNDLED_EMBEDDER
    reranker: str = ""
    pool: str = DEFAULT_POOL
    created_at: datetime
    revision: int = 0
    documents: int = 0
    chunks: int = 0

    def is_managed_by(self, user: User) -> bool:
        """Whether a user may change it and its documents."""
        return user.role is Role.ADMINISTRATOR or (self.owner != "" and self.owner == user.user_id)

    def is_readable_by(self, user: User) -> bool:
        """Whether a user may ask it and read its documents; to others it does not exist."""
        access = self.access
        is_named = user.user_id in access.users or not set(user.groups).isdisjoint(access.groups)
        return access.everyone or is_named or self.is_managed_by(user)


def check_filters(filters: Mapping[str, Filter], scope: Collection[str], kbs: Mapping[str, KnowledgeBase]) -> None:
    """Raises FilterProblem for a filter outside of a question's scope, or one that its knowledge base's schema lacks.

    `kbs` are those of the scope that are searched; the filter of one that is gone does not matter.
    """
    for kb_id, part in filters.items():
        path = f"params.filters.{kb_id}"
        if kb_id not in scope:
            raise FilterProblem(path, "is not a knowledge base of this question")
        if kb_id in kbs:
            check_filter(part, kbs[kb_id].metadata_schema, path)


class DocumentStatus(StrEnum):
    """Where a document's newest upload stands; an indexed version is searched by its words, an embedded one by its
    vectors too.
    """

    SUBMITTED = "submitted"
    PARSING = "parsing"
    INDEXED = "indexed"
    EMBEDDED = "embedded"
    FAILED = "failed"


class ContextualState(StrEnum):
    """What the headers of a document's chunks are made of.

    Plain ones say its title and headings, complete ones a model's summaries too; partial ones lack some. A document
    that waits, is being summarised or failed has plain ones.
    """

    PLAIN = "plain"
    WAITING = "waiting"
    SUMMARISING = "summarising"
    PARTIAL = "partial"
    COMPLETE = "complete"
    FAILED = "failed"


class Contextual(Message):
    """How the headers of a searched version came about, by which provider's model, and what it cost.

    `reason` says what is missing and why; `sections` counts those that were summarised. `usage` counts failed tries
    too; None: no model was asked.
    """

    state: ContextualState = ContextualState.PLAIN
    reason: str | None = None
    sections: int = 0
    provider: str = ""
    model: str = ""
    usage: Usage | None = None

    @property
    def is_pending(self) -> bool:
        """Whether a model is still to be asked, or is being asked."""
        return self.state in {ContextualState.WAITING, ContextualState.SUMMARISING}


class Contexts(Message):
    """How many documents of a knowledge base are in each state, none left out, and what all their summaries cost."""

    documents: dict[ContextualState, int] = Field(default_factory=dict)
    usage: Usage | None = None


class Document(Message):
    """A document as listed: `version` is the searched one (0: none yet), `reason` says why an upload failed.

    `embedded` counts the chunks that have a vector; `notes` say what a reader of the file could not take over.
    """

    doc_id: UUID
    kb_id: str
    title: str
    file_name: str
    document_type: str
    version: int
    status: DocumentStatus
    reason: str | None = None
    pages: int = 0
    chunks: int = 0
    characters: int = 0
    embedded: int = 0
    metadata: Metadata = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    contextual: Contextual = Contextual()
    updated_at: datetime


class PageText(Message):
    """One page of a document's searched version (a document without pages is read as a whole)."""

    doc_id: UUID
    version: int
    title: str
    page: PageSpan | None
    start: int
    end: int
    text: str
