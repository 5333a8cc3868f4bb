"""The stages that answer requests about knowledge bases and documents."""

from dataclasses import dataclass

from citewire.contracts.events import DocumentRemoved
from citewire.contracts.requests import (
    CreateKnowledgeBase,
    DocumentList,
    DocumentReply,
    Done,
    GetDocument,
    KnowledgeBaseReply,
    ListDocuments,
    PageReply,
    ReadPage,
    RemoveDocument,
    RemoveKnowledgeBase,
    SubmitDocument,
)
from citewire.runtime.bus import Bus
from citewire.runtime.errors import conflict, invalid, not_found
from citewire.text.normalise import clean
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.store.documents import DocumentStore
from retriever.store.kbs import KbStore

MAX_FILE_NAME = 255


@dataclass(frozen=True)
class Librarian:
    """Answers requests about knowledge bases and documents."""

    bus: Bus
    kbs: KbStore
    documents: DocumentStore
    indexes: IndexFollower
    register: Register

    async def create_kb(self, request: CreateKnowledgeBase) -> KnowledgeBaseReply:
        """A new, empty knowledge base, in the register when the reply comes."""
        new = request.kb.model_copy(
            update={"title": clean(request.kb.title), "description": clean(request.kb.description)}
        )
        kb = await self.kbs.create(new)
        if kb is None:
            raise conflict(f"There is a knowledge base {new.kb_id} already.")
        await self.register.refresh()
        return KnowledgeBaseReply(kb=kb)

    async def remove_kb(self, request: RemoveKnowledgeBase) -> Done:
        """Out of every answer at once; its rows go a little later."""
        if not await self.kbs.remove(request.kb_id):
            raise not_found("knowledge base")
        await self.indexes.follow(request.kb_id)
        await self.register.refresh()
        return Done()

    async def submit_document(self, request: SubmitDocument) -> DocumentReply:
        """Note an upload and have it read; the same upload submitted twice is read once."""
        name = clean(request.file_name).strip()
        if not 0 < len(name) <= MAX_FILE_NAME:
            raise invalid("file_name", f"must have 1 to {MAX_FILE_NAME} characters")
        submission = await self.documents.submit(request.kb_id, name, request.upload)
        if submission is None:
            raise not_found("knowledge base")
        await self.bus.publish(submission.event)
        return DocumentReply(document=submission.document)

    async def resubmit_waiting(self) -> None:
        """Publish again what nobody has begun to read: a process may have died before it could."""
        for event in await self.documents.waiting():
            await self.bus.publish(event)

    async def get_document(self, request: GetDocument) -> DocumentReply:
        """One document."""
        document = await self.documents.get(request.kb_id, request.doc_id)
        if document is None:
            raise not_found("document")
        return DocumentReply(document=document)

    async def list_documents(self, request: ListDocuments) -> DocumentList:
        """A page of a knowledge base's documents."""
        if await self.kbs.find(request.kb_id) is None:
            raise not_found("knowledge base")
        return await self.documents.list(request.kb_id, request.limit, request.cursor)

    async def remove_document(self, request: RemoveDocument) -> Done:
        """Out of every answer at once, in all replicas: they read from the rows that are gone now."""
        version = await self.documents.remove(request.kb_id, request.doc_id)
        if version is None:
            raise not_found("document")
        await self.indexes.follow(request.kb_id)
        await self.register.refresh()
        await self.bus.publish(DocumentRemoved(kb_id=request.kb_id, doc_id=request.doc_id, version=version))
        return Done()

    async def read_page(self, request: ReadPage) -> PageReply:
        """One page, or a text that has no pages."""
        page = await self.documents.page(request.kb_id, request.doc_id, request.number)
        if page is None:
            raise not_found("page")
        return PageReply(page=page)
