"""Knowledge bases and their documents."""

from pathlib import PurePosixPath
from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, File, Form, Query, UploadFile
from nats.errors import Error as NatsError
from pydantic import Field, TypeAdapter, ValidationError

from citewire.contracts.events import MAX_QUESTION_CHARACTERS
from citewire.contracts.filters import Filter, check_filter, check_metadata
from citewire.contracts.identity import User
from citewire.contracts.knowledge import (
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
from citewire.contracts.model import Input, Message
from citewire.contracts.requests import (
    MAX_CONTEXT,
    CreateKnowledgeBase,
    DocumentList,
    GetContexts,
    GetDocument,
    GetEmbedding,
    ListDocuments,
    ReadPage,
    RemoveDocument,
    RemoveKnowledgeBase,
    Search,
    SearchReply,
    SubmitDocument,
    SummariseDocuments,
    UpdateKnowledgeBase,
)
from citewire.contracts.retrieval import RetrievalMode, RseChoice
from citewire.contracts.sessions import KbId
from citewire.contracts.streams import UPLOAD_BUCKET
from citewire.runtime.errors import TransientError, invalid
from citewire.text.normalise import clean
from gateway.parts import Parts, TheAdministrator, TheCaller, TheParts
from gateway.permits import managed_kb, readable_kb, refusing

router = APIRouter(prefix="/v1/kbs", tags=["knowledge bases"])

MAX_FILE_NAME = 255
METADATA = TypeAdapter(Metadata)


class KnowledgeBases(Message):
    """All knowledge bases that the caller may see."""

    kbs: tuple[KnowledgeBase, ...]


class SearchBody(Input):
    """A search without an answer; `mode` and `rse_params` replace the knowledge base's own for this search.

    `context` has the earlier questions of a conversation, which weigh little.
    """

    query: str = Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)
    context: tuple[Annotated[str, Field(max_length=MAX_QUESTION_CHARACTERS)], ...] = Field(
        default=(), max_length=MAX_CONTEXT
    )
    top_k: int = Field(default=8, ge=1, le=50)
    filter: Filter | None = None
    mode: RetrievalMode | None = None
    rse_params: RseChoice = Field(default_factory=dict)
    explain: bool = False


@router.get("")
async def list_kbs(caller: TheCaller, parts: TheParts) -> KnowledgeBases:
    """The knowledge bases that the caller may read, by id."""
    readable = (kb for _, kb in sorted(parts.kbs.entries.items()) if kb.is_readable_by(caller.user))
    return KnowledgeBases(kbs=tuple(_shown(kb, caller.user) for kb in readable))


@router.post("", status_code=201)
async def create_kb(body: NewKnowledgeBase, caller: TheAdministrator, parts: TheParts) -> KnowledgeBase:
    """Create a knowledge base."""
    kb = (await parts.wires.bus.ask(CreateKnowledgeBase(user=caller.user, kb=body))).kb
    await parts.kbs.wait_for(kb.kb_id, present=True)
    return kb


@router.get("/{kb_id}")
async def read_kb(kb_id: KbId, caller: TheCaller, parts: TheParts) -> KnowledgeBase:
    """One knowledge base."""
    return _shown(await readable_kb(parts.kbs, kb_id, caller.user), caller.user)


@router.patch("/{kb_id}")
async def update_kb(kb_id: KbId, body: KnowledgeBaseChanges, caller: TheCaller, parts: TheParts) -> KnowledgeBase:
    """Change some settings: those that are sent, as a whole each; the owner may not change `owner` and `pool`."""
    await managed_kb(parts.kbs, kb_id, caller.user)
    kb = (await parts.wires.bus.ask(UpdateKnowledgeBase(user=caller.user, kb_id=kb_id, changes=body))).kb
    await parts.kbs.wait_until(lambda kbs: kb_id not in kbs or kbs[kb_id].revision >= kb.revision)
    return _shown(kb, caller.user)


@router.delete("/{kb_id}", status_code=204)
async def remove_kb(kb_id: KbId, caller: TheCaller, parts: TheParts) -> None:
    """Remove a knowledge base with its documents."""
    await managed_kb(parts.kbs, kb_id, caller.user)
    await parts.wires.bus.ask(RemoveKnowledgeBase(user=caller.user, kb_id=kb_id))
    await parts.kbs.wait_for(kb_id, present=False)


@router.get("/{kb_id}/embedding")
async def read_embedding(kb_id: KbId, caller: TheCaller, parts: TheParts) -> Embedding:
    """How far a knowledge base is embedded."""
    await readable_kb(parts.kbs, kb_id, caller.user)
    return (await parts.wires.bus.ask(GetEmbedding(user=caller.user, kb_id=kb_id))).embedding


@router.get("/{kb_id}/contexts")
async def read_contexts(kb_id: KbId, caller: TheCaller, parts: TheParts) -> Contexts:
    """How far a model's summaries of a knowledge base's documents are, and what they cost."""
    await readable_kb(parts.kbs, kb_id, caller.user)
    return (await parts.wires.bus.ask(GetContexts(user=caller.user, kb_id=kb_id))).contexts


@router.post("/{kb_id}/contexts", status_code=202)
async def summarise_documents(kb_id: KbId, caller: TheCaller, parts: TheParts) -> Contexts:
    """Have a model summarise the documents that have plain headers; each costs up to some requests."""
    await managed_kb(parts.kbs, kb_id, caller.user)
    return (await parts.wires.bus.ask(SummariseDocuments(user=caller.user, kb_id=kb_id))).contexts


@router.get("/{kb_id}/documents")
async def list_documents(  # noqa: PLR0913 - one argument per query parameter
    kb_id: KbId,
    caller: TheCaller,
    parts: TheParts,
    *,
    status: DocumentStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: str | None = None,
) -> DocumentList:
    """The documents of a knowledge base, by file name; all, or those with a status."""
    await readable_kb(parts.kbs, kb_id, caller.user)
    request = ListDocuments(user=caller.user, kb_id=kb_id, status=status, limit=limit, cursor=cursor)
    return await parts.wires.bus.ask(request)


@router.post("/{kb_id}/documents", status_code=202)
async def upload_document(
    kb_id: KbId,
    file: Annotated[UploadFile, File()],
    caller: TheCaller,
    parts: TheParts,
    metadata: Annotated[str, Form()] = "{}",
) -> Document:
    """Upload a file; a document of the same file name gets a new version once that is complete.

    `metadata` is a JSON object whose fields the knowledge base's schema has.
    """
    kb = await managed_kb(parts.kbs, kb_id, caller.user)
    name = clean(PurePosixPath((file.filename or "").replace("\\", "/")).name).strip()
    if not 1 <= len(name) <= MAX_FILE_NAME:
        raise invalid("file", f"needs a file name of 1 to {MAX_FILE_NAME} characters")
    fields = _metadata(metadata)
    with refusing():
        check_metadata(fields, kb.metadata_schema)
    upload = await _store(parts, file)
    request = SubmitDocument(user=caller.user, kb_id=kb_id, file_name=name, upload=upload, metadata=fields)
    return (await parts.wires.bus.ask(request)).document


@router.get("/{kb_id}/documents/{doc_id}")
async def read_document(kb_id: KbId, doc_id: UUID, caller: TheCaller, parts: TheParts) -> Document:
    """A document and where its newest upload stands."""
    await readable_kb(parts.kbs, kb_id, caller.user)
    return (await parts.wires.bus.ask(GetDocument(user=caller.user, kb_id=kb_id, doc_id=doc_id))).document


@router.delete("/{kb_id}/documents/{doc_id}", status_code=204)
async def remove_document(kb_id: KbId, doc_id: UUID, caller: TheCaller, parts: TheParts) -> None:
    """Remove a document: from now on no answer uses it."""
    await managed_kb(parts.kbs, kb_id, caller.user)
    await parts.wires.bus.ask(RemoveDocument(user=caller.user, kb_id=kb_id, doc_id=doc_id))


@router.get("/{kb_id}/documents/{doc_id}/pages/{number}")
async def read_page(kb_id: KbId, doc_id: UUID, number: int, caller: TheCaller, parts: TheParts) -> PageText:
    """The text of a physical page, counted from 1."""
    await readable_kb(parts.kbs, kb_id, caller.user)
    return (await parts.wires.bus.ask(ReadPage(user=caller.user, kb_id=kb_id, doc_id=doc_id, number=number))).page


@router.get("/{kb_id}/documents/{doc_id}/text")
async def read_text(kb_id: KbId, doc_id: UUID, caller: TheCaller, parts: TheParts) -> PageText:
    """The whole text of a document that has no pages."""
    await readable_kb(parts.kbs, kb_id, caller.user)
    return (await parts.wires.bus.ask(ReadPage(user=caller.user, kb_id=kb_id, doc_id=doc_id))).page


@router.post("/{kb_id}/search")
async def search(kb_id: KbId, body: SearchBody, caller: TheCaller, parts: TheParts) -> SearchReply:
    """Retrieval alone."""
    kb = await readable_kb(parts.kbs, kb_id, caller.user)
    if body.filter is not None:
        with refusing():
            check_filter(body.filter, kb.metadata_schema)
    request = Search(user=caller.user, kb_id=kb_id, pool=kb.pool, **dict(body))
    return await parts.wires.bus.ask(request)


def _metadata(sent: str) -> Metadata:
    try:
        return METADATA.validate_json(sent)
    except ValidationError as error:
        raise invalid("metadata", "must be a JSON object of texts, numbers and booleans") from error


async def _store(parts: Parts, file: UploadFile) -> str:
    """Put a file into the upload bucket, under a new name."""
    upload = str(uuid4())
    try:
        store = await parts.wires.bus.js.object_store(UPLOAD_BUCKET)
        await store.put(upload, file.file)  # type: ignore[arg-type] # spooled files are buffered
    except (NatsError, TimeoutError) as error:
        raise TransientError("the upload could not be stored") from error
    return upload


def _shown(kb: KnowledgeBase, user: User) -> KnowledgeBase:
    """A knowledge base without what only those who manage it need to know: who else may read it."""
    if kb.is_managed_by(user):
        return kb
    return kb.model_copy(update={"access": kb.access.model_copy(update={"users": (), "groups": ()})})
