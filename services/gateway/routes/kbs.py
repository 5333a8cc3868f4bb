"""Knowledge bases and their documents."""

from pathlib import PurePosixPath
from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, File, Query, UploadFile
from nats.errors import Error as NatsError
from pydantic import Field

from citewire.contracts.knowledge import Document, KnowledgeBase, NewKnowledgeBase, PageText
from citewire.contracts.model import Input, Message
from citewire.contracts.requests import (
    CreateKnowledgeBase,
    DocumentList,
    GetDocument,
    ListDocuments,
    ReadPage,
    RemoveDocument,
    RemoveKnowledgeBase,
    Search,
    SearchReply,
    SubmitDocument,
)
from citewire.contracts.sessions import KbId
from citewire.contracts.streams import UPLOAD_BUCKET
from citewire.runtime.errors import TransientError, invalid, not_found
from citewire.text.normalise import clean
from gateway.parts import Parts, TheAdministrator, TheCaller, TheParts

router = APIRouter(prefix="/v1/kbs", tags=["knowledge bases"])

MAX_FILE_NAME = 255


class KnowledgeBases(Message):
    """All knowledge bases that the caller may see."""

    kbs: tuple[KnowledgeBase, ...]


class SearchBody(Input):
    """A search without an answer."""

    query: str = Field(min_length=1, max_length=4000)
    top_k: int = Field(default=8, ge=1, le=50)


@router.get("")
async def list_kbs(_: TheCaller, parts: TheParts) -> KnowledgeBases:
    """The knowledge bases, by id."""
    return KnowledgeBases(kbs=tuple(parts.kbs.entries[kb_id] for kb_id in sorted(parts.kbs.entries)))


@router.post("", status_code=201)
async def create_kb(body: NewKnowledgeBase, _: TheAdministrator, parts: TheParts) -> KnowledgeBase:
    """Create a knowledge base."""
    kb = (await parts.wires.bus.ask(CreateKnowledgeBase(kb=body))).kb
    await parts.kbs.wait_for(kb.kb_id, present=True)
    return kb


@router.get("/{kb_id}")
async def read_kb(kb_id: KbId, _: TheCaller, parts: TheParts) -> KnowledgeBase:
    """One knowledge base."""
    return await _find(parts, kb_id)


@router.delete("/{kb_id}", status_code=204)
async def remove_kb(kb_id: KbId, _: TheAdministrator, parts: TheParts) -> None:
    """Remove a knowledge base with its documents."""
    await parts.wires.bus.ask(RemoveKnowledgeBase(kb_id=kb_id))
    await parts.kbs.wait_for(kb_id, present=False)


@router.get("/{kb_id}/documents")
async def list_documents(
    kb_id: KbId,
    _: TheCaller,
    parts: TheParts,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: str | None = None,
) -> DocumentList:
    """The documents of a knowledge base, by file name."""
    await _find(parts, kb_id)
    return await parts.wires.bus.ask(ListDocuments(kb_id=kb_id, limit=limit, cursor=cursor))


@router.post("/{kb_id}/documents", status_code=202)
async def upload_document(
    kb_id: KbId, file: Annotated[UploadFile, File()], _: TheAdministrator, parts: TheParts
) -> Document:
    """Upload a file; a document of the same file name gets a new version once that is complete."""
    await _find(parts, kb_id)
    name = clean(PurePosixPath((file.filename or "").replace("\\", "/")).name).strip()
    if not 1 <= len(name) <= MAX_FILE_NAME:
        raise invalid("file", f"needs a file name of 1 to {MAX_FILE_NAME} characters")
    upload = str(uuid4())
    try:
        store = await parts.wires.bus.js.object_store(UPLOAD_BUCKET)
        await store.put(upload, file.file)  # type: ignore[arg-type] # spooled files are buffered
    except (NatsError, TimeoutError) as error:
        raise TransientError("the upload could not be stored") from error
    request = SubmitDocument(kb_id=kb_id, file_name=name, upload=upload)
    return (await parts.wires.bus.ask(request)).document


@router.get("/{kb_id}/documents/{doc_id}")
async def read_document(kb_id: KbId, doc_id: UUID, _: TheCaller, parts: TheParts) -> Document:
    """A document and where its newest upload stands."""
    return (await parts.wires.bus.ask(GetDocument(kb_id=kb_id, doc_id=doc_id))).document


@router.delete("/{kb_id}/documents/{doc_id}", status_code=204)
async def remove_document(kb_id: KbId, doc_id: UUID, _: TheAdministrator, parts: TheParts) -> None:
    """Remove a document: from now on no answer uses it."""
    await parts.wires.bus.ask(RemoveDocument(kb_id=kb_id, doc_id=doc_id))


@router.get("/{kb_id}/documents/{doc_id}/pages/{number}")
async def read_page(kb_id: KbId, doc_id: UUID, number: int, _: TheCaller, parts: TheParts) -> PageText:
    """The text of a physical page, counted from 1."""
    return (await parts.wires.bus.ask(ReadPage(kb_id=kb_id, doc_id=doc_id, number=number))).page


@router.get("/{kb_id}/documents/{doc_id}/text")
async def read_text(kb_id: KbId, doc_id: UUID, _: TheCaller, parts: TheParts) -> PageText:
    """The whole text of a document that has no pages."""
    return (await parts.wires.bus.ask(ReadPage(kb_id=kb_id, doc_id=doc_id))).page


@router.post("/{kb_id}/search")
async def search(kb_id: KbId, body: SearchBody, _: TheCaller, parts: TheParts) -> SearchReply:
    """Retrieval alone."""
    await _find(parts, kb_id)
    return await parts.wires.bus.ask(Search(kb_id=kb_id, query=body.query, top_k=body.top_k))


async def _find(parts: Parts, kb_id: str) -> KnowledgeBase:
    kb = parts.kbs.entries.get(kb_id) or await parts.kbs.read(kb_id)
    if kb is None:
        raise not_found(f"knowledge base: {kb_id}")
    return kb
