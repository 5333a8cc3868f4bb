"""Knowledge bases and documents, as everyone but their owner sees them."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from citewire.contracts.evidence import PageSpan
from citewire.contracts.model import Input, Message
from citewire.contracts.sessions import KbId


class NewKnowledgeBase(Input):
    """What it takes to create a knowledge base; `language` is a BCP 47 tag or empty for mixed."""

    kb_id: KbId
    title: str = Field(min_length=1, max_length=200)
    description: str = Field(default="", max_length=2000)
    language: str = Field(default="", max_length=35)


class KnowledgeBase(Message):
    """A knowledge base as the register has it; `revision` grows with each change of its documents."""

    kb_id: str
    title: str
    description: str = ""
    language: str = ""
    created_at: datetime
    revision: int = 0
    documents: int = 0
    chunks: int = 0


class DocumentStatus(StrEnum):
    """Where a document's newest upload stands; only an indexed version is ever searched."""

    SUBMITTED = "submitted"
    PARSING = "parsing"
    INDEXED = "indexed"
    FAILED = "failed"


class Document(Message):
    """A document as listed: `version` is the searched one (0: none yet), `reason` says why an upload failed."""

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
