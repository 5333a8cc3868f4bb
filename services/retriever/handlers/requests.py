"""The stages that answer requests about knowledge bases and documents."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeVar

from citewire.contracts.events import DocumentOffered, DocumentRemoved
from citewire.contracts.evidence import SourceState
from citewire.contracts.filters import FilterProblem, check_metadata
from citewire.contracts.identity import Role, User
from citewire.contracts.knowledge import (
    BUNDLED_EMBEDDER,
    NO_EMBEDDER,
    Document,
    KnowledgeBase,
    KnowledgeBaseChanges,
    NewKnowledgeBase,
)
from citewire.contracts.requests import (
    CheckDocuments,
    CreateKnowledgeBase,
    DocumentList,
    DocumentReply,
    DocumentStates,
    DocumentVersion,
    Done,
    GetDocument,
    KnowledgeBaseReply,
    ListDocuments,
    PageReply,
    ReadPage,
    RemoveDocument,
    RemoveKnowledgeBase,
    SubmitDocument,
    UpdateKnowledgeBase,
)
from citewire.runtime.bus import Bus
from citewire.runtime.errors import conflict, forbidden, invalid, not_found
from citewire.text.normalise import clean, clean_json
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.store.documents import DocumentStore
from retriever.store.kbs import KbStore

MAX_FILE_NAME = 255
# What only administrators may change: who is in charge, and which machines do the work.
_ADMINISTRATORS_ONLY: Final = ("owner", "pool")

S = TypeVar("S", NewKnowledgeBase, KnowledgeBaseChanges)


@dataclass(frozen=True)
class Librarian:
    """Answers requests about knowledge bases and documents; `embedders` and `rerankers` are the names set up."""

    bus: Bus
    kbs: KbStore
    documents: DocumentStore
    indexes: IndexFollower
    register: Register
    embedders: Collection[str] = ()
    rerankers: Collection[str] = ()

    async def create_kb(self, request: CreateKnowledgeBase) -> KnowledgeBaseReply:
        """A new, empty knowledge base, in the register when the reply comes."""
        if request.user.role is not Role.ADMINISTRATOR:
            raise forbidden("Only an administrator may create knowledge bases.")
        new = _cleaned(request.kb)
        self._check_settings(new)
        kb = await self.kbs.create(new)
        if kb is None:
            raise conflict(f"There is a knowledge base {new.kb_id} already.")
        await self.register.show(kb)
        return KnowledgeBaseReply(kb=kb)

    async def update_kb(self, request: UpdateKnowledgeBase) -> KnowledgeBaseReply:
        """Other settings, in the register when the reply comes."""
        kb = await self.register.managed(request.kb_id, request.user)
        changes = _cleaned(request.changes)
        if request.user.role is not Role.ADMINISTRATOR:
            _check_owners_changes(kb, changes)
        self._check_settings(changes)
        changed = await self.kbs.update(request.kb_id, changes)
        if changed is None:
            raise not_found(f"knowledge base: {request.kb_id}")
        await self.register.show(changed)
        return KnowledgeBaseReply(kb=changed)

    async def remove_kb(self, request: RemoveKnowledgeBase) -> Done:
        """Out of every answer at once; its rows go a little later."""
        await self.register.managed(request.kb_id, request.user)
        if not await self.kbs.remove(request.kb_id):
            raise not_found(f"knowledge base: {request.kb_id}")
        await self.indexes.follow(request.kb_id)
        await self.register.refresh()
        return Done()

    async def submit_document(self, request: SubmitDocument) -> DocumentReply:
        """Note an upload and have it read; the same upload submitted twice is read once."""
        kb = await self.register.managed(request.kb_id, request.user)
        return DocumentReply(document=await self._submit(kb, request))

    async def offer_document(self, event: DocumentOffered) -> None:
        """The same for another service, which the bus has let publish; what can't be taken is set aside."""
        kb = await self.register.find(event.kb_id)
        if kb is None:
            raise not_found(f"knowledge base: {event.kb_id}")
        await self._submit(kb, event)

    async def resubmit_waiting(self) -> None:
        """Publish again what nobody has begun to read: a process may have died before it could."""
        for event in await self.documents.waiting():
            await self.bus.publish(event)

    async def get_document(self, request: GetDocument) -> DocumentReply:
        """One document."""
        await self.register.readable(request.kb_id, request.user)
        document = await self.documents.get(request.kb_id, request.doc_id)
        if document is None:
            raise not_found("document")
        return DocumentReply(document=document)

    async def list_documents(self, request: ListDocuments) -> DocumentList:
        """A page of a knowledge base's documents."""
        await self.register.readable(request.kb_id, request.user)
        return await self.documents.list(request.kb_id, request.limit, request.cursor, request.status)

    async def check_documents(self, request: CheckDocuments) -> DocumentStates:
        """What has become of documents since; removed ones are no secret to those who could read them."""
        versions = await self.documents.current_versions({document.doc_id for document in request.documents})
        kb_ids = {document.kb_id for document in request.documents}
        kbs = {kb_id: await self.register.find(kb_id) for kb_id in kb_ids}
        return DocumentStates(
            states=tuple(
                _state(document, kbs[document.kb_id], versions.get((document.kb_id, document.doc_id)), request.user)
                for document in request.documents
            )
        )

    async def remove_document(self, request: RemoveDocument) -> Done:
        """Out of every answer at once, in all replicas: they read from the rows that are gone now."""
        await self.register.managed(request.kb_id, request.user)
        version = await self.documents.remove(request.kb_id, request.doc_id)
        if version is None:
            raise not_found("document")
        await self.indexes.follow(request.kb_id)
        await self.register.refresh()
        await self.bus.publish(DocumentRemoved(kb_id=request.kb_id, doc_id=request.doc_id, version=version))
        return Done()

    async def read_page(self, request: ReadPage) -> PageReply:
        """One page, or a text that has no pages."""
        await self.register.readable(request.kb_id, request.user)
        page = await self.documents.page(request.kb_id, request.doc_id, request.number)
        if page is None:
            raise not_found("page")
        return PageReply(page=page)

    async def _submit(self, kb: KnowledgeBase, offer: SubmitDocument | DocumentOffered) -> Document:
        name = clean(offer.file_name).strip()
        if not 0 < len(name) <= MAX_FILE_NAME:
            raise invalid("file_name", f"must have 1 to {MAX_FILE_NAME} characters")
        try:
            check_metadata(offer.metadata, kb.metadata_schema)
        except FilterProblem as problem:
            raise invalid(problem.field, problem.message) from problem
        submission = await self.documents.submit(kb.kb_id, name, clean(offer.upload), offer.metadata)
        if submission is None:
            raise not_found(f"knowledge base: {kb.kb_id}")
        await self.bus.publish(submission.event)
        return submission.document

    def _check_settings(self, settings: NewKnowledgeBase | KnowledgeBaseChanges) -> None:
        """Raises Refusal 422 for a name that is not set up here."""
        _check_name("embedder", settings.embedder, {BUNDLED_EMBEDDER, NO_EMBEDDER, *self.embedders})
        _check_name("reranker", settings.reranker, {"", *self.rerankers})


def _check_name(field: str, name: str | None, known: set[str]) -> None:
    if name is not None and name not in known:
        raise invalid(field, f"is not set up; known are {', '.join(sorted(filter(None, known))) or 'none'}")


def _check_owners_changes(kb: KnowledgeBase, changes: KnowledgeBaseChanges) -> None:
    """Raises Refusal 403 for a change that is not an owner's to make."""
    for name in _ADMINISTRATORS_ONLY:
        if getattr(changes, name) not in {None, getattr(kb, name)}:
            raise forbidden(f"Only an administrator may change the {name} of a knowledge base.")


def _cleaned(settings: S) -> S:
    """The same settings without what no store takes."""
    return settings.model_validate(clean_json(settings.model_dump(mode="json")))


def _state(document: DocumentVersion, kb: KnowledgeBase | None, version: int | None, user: User) -> SourceState:
    if kb is not None and not kb.is_readable_by(user):
        return SourceState.WITHHELD
    if version is None or kb is None:
        return SourceState.REMOVED
    return SourceState.CURRENT if version == document.version else SourceState.CHANGED
