"""Documents offered, replaced and removed at bad moments, their metadata, and what becomes of citations of them."""

from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest
import pytest_asyncio

from citewire.contracts.events import DocumentFailed, DocumentOffered
from citewire.contracts.evidence import SourceState
from citewire.contracts.identity import User
from citewire.contracts.knowledge import Document, DocumentStatus, KnowledgeBase
from citewire.contracts.requests import (
    CheckDocuments,
    DocumentVersion,
    GetDocument,
    ListDocuments,
    RemoveKnowledgeBase,
    UpdateKnowledgeBase,
)
from citewire.contracts.streams import DEAD_LETTER_SUBJECT, KB_BUCKET
from citewire.runtime.database import open_database
from citewire.runtime.errors import Refusal
from citewire.runtime.registry import watch
from retriever_stage import ADMIN, Stage, until

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCHEMA = {"year": "number", "team": "text"}
# Takes long enough to read that something can happen meanwhile.
LONG = b"The ticket costs ten francs on a quiet day. " * 60_000


@pytest_asyncio.fixture(loop_scope="module")
async def stage(retriever: Stage) -> AsyncGenerator[Stage]:
    await retriever.create_kb(metadata_schema=SCHEMA)
    yield retriever
    await retriever.clear()


async def being_read(stage: Stage, file_name: str, upload: str) -> Document:
    """A long document while it is being read."""
    document = await stage.submit(file_name, LONG, upload=upload)

    async def look() -> Document | None:
        reply = await stage.bus.ask(GetDocument(user=ADMIN, kb_id="kb", doc_id=document.doc_id))
        return reply.document if reply.document.status is DocumentStatus.PARSING else None

    return await until(look)


async def named(stage: Stage, file_name: str) -> Document | None:
    listed = await stage.bus.ask(ListDocuments(user=ADMIN, kb_id="kb"))
    return next((document for document in listed.documents if document.file_name == file_name), None)


async def revision(stage: Stage) -> int:
    async with watch(stage.bus, KB_BUCKET, KnowledgeBase) as register:
        # An entry that is being replaced in this moment comes a moment later.
        await register.wait_until(lambda kbs: "kb" in kbs)
        return register.entries["kb"].revision


async def states(stage: Stage, *documents: Document, user: User = ADMIN) -> list[SourceState]:
    versions = tuple(DocumentVersion(kb_id=d.kb_id, doc_id=d.doc_id, version=d.version) for d in documents)
    return list((await stage.bus.ask(CheckDocuments(user=user, documents=versions))).states)


async def test_d04_a_document_removed_while_it_is_being_read_stays_away(stage: Stage) -> None:
    document = await being_read(stage, "price.txt", "upload-1")

    await stage.remove(document)

    assert await until(lambda: stage.is_taken("upload-1"))
    assert await stage.texts("ticket") == []


async def test_d04_a_document_replaced_while_it_is_being_read_ends_as_its_newest_upload(stage: Stage) -> None:
    first = await being_read(stage, "price.txt", "upload-1")

    second = await stage.add("price.txt", b"The ticket costs twelve euros.")

    assert await until(lambda: stage.is_taken("upload-1"))
    assert (second.doc_id, second.version) == (first.doc_id, 2)
    assert await stage.texts("ticket") == ["The ticket costs twelve euros."]


async def test_d04_a_name_used_again_while_the_removed_document_is_being_read_is_a_new_document(stage: Stage) -> None:
    removed = await being_read(stage, "price.txt", "upload-1")
    await stage.remove(removed)

    added = await stage.add("price.txt", b"The ticket costs twelve euros.")

    assert await until(lambda: stage.is_taken("upload-1"))
    assert (added.doc_id == removed.doc_id, added.version) == (False, 1)
    assert await stage.texts("ticket") == ["The ticket costs twelve euros."]


async def test_a_documents_metadata_is_kept_with_it(stage: Stage) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.", metadata={"year": 1999, "team": "财务"})

    assert document.metadata == {"year": 1999, "team": "财务"}


async def test_the_same_content_with_other_metadata_is_no_new_version(stage: Stage) -> None:
    await stage.add("price.txt", b"The ticket costs ten francs.", metadata={"year": 1999})
    before = await revision(stage)

    again = await stage.add("price.txt", b"The ticket costs ten francs.", metadata={"year": 2001})

    assert (again.version, again.metadata) == (1, {"year": 2001})
    assert await revision(stage) > before


async def test_the_same_content_and_metadata_again_change_nothing(stage: Stage) -> None:
    await stage.add("price.txt", b"The ticket costs ten francs.", metadata={"year": 1999})
    before = await revision(stage)

    await stage.add("price.txt", b"The ticket costs ten francs.", metadata={"year": 1999})

    assert await revision(stage) == before


async def test_the_same_content_under_another_name_is_another_document(stage: Stage) -> None:
    first = await stage.add("price.txt", b"The ticket costs ten francs.")

    second = await stage.add("copy.txt", b"The ticket costs ten francs.")

    assert second.doc_id != first.doc_id


@pytest.mark.parametrize(("metadata", "field"), [({"year": "1999"}, "metadata.year"), ({"month": 1}, "metadata.month")])
async def test_metadata_that_the_schema_does_not_know_is_refused(
    stage: Stage, metadata: dict[str, str | int], field: str
) -> None:
    with pytest.raises(Refusal) as refusal:
        await stage.submit("price.txt", b"The ticket costs ten francs.", metadata=dict(metadata))

    assert (refusal.value.problem.status, refusal.value.problem.errors[0].field) == (422, field)


async def test_a_schema_may_change_against_metadata_that_is_there(stage: Stage) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.", metadata={"year": 1999})

    changes = {"metadata_schema": {"year": "text"}}
    await stage.bus.ask(UpdateKnowledgeBase.model_validate({"user": ADMIN, "kb_id": "kb", "changes": changes}))

    assert (await stage.settled(document.doc_id)).metadata == {"year": 1999}


async def test_documents_are_listed_by_status(stage: Stage) -> None:
    await stage.add("good.txt", b"The ticket costs ten francs.")
    await stage.add("bad.pdf", b"%PDX-1.4 this is no document")

    failed = await stage.bus.ask(ListDocuments(user=ADMIN, kb_id="kb", status=DocumentStatus.FAILED))

    assert [document.file_name for document in failed.documents] == ["bad.pdf"]


async def embed(database: str, document: Document, chunks: int) -> None:
    """Note so many vectors of a document, as the embedder of its knowledge base does."""
    async with open_database(database) as opened:
        await opened.execute(
            """
            WITH space AS (
                INSERT INTO knowledge.spaces (kb_uid, embedder, model, dimension)
                SELECT kb_uid, embedder, 'any', 3 FROM knowledge.kbs WHERE kb_id = 'kb' AND deleted_at IS NULL
                RETURNING space_id
            )
            INSERT INTO knowledge.embedded (space_id, doc_id, version, chunks) SELECT space_id, $1, $2, $3 FROM space
            """,
            document.doc_id,
            document.version,
            chunks,
        )


async def test_a_document_is_embedded_when_all_its_chunks_have_vectors(stage: Stage, retriever_database: str) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.")
    await embed(retriever_database, document, document.chunks)

    embedded = await stage.settled(document.doc_id)
    listed = await stage.bus.ask(ListDocuments(user=ADMIN, kb_id="kb", status=DocumentStatus.EMBEDDED))

    assert (embedded.status, embedded.embedded) == (DocumentStatus.EMBEDDED, document.chunks)
    assert listed.documents == (embedded,)


async def test_a_document_that_lacks_vectors_in_the_newest_space_is_only_indexed(
    stage: Stage, retriever_database: str
) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.")
    await embed(retriever_database, document, 0)

    assert (await stage.settled(document.doc_id)).status is DocumentStatus.INDEXED


async def test_a_failed_upload_is_announced_with_its_reason(stage: Stage) -> None:
    announced = await stage.bus.client.subscribe(f"{DocumentFailed.subject}.kb")

    document = await stage.add("bad.pdf", b"%PDX-1.4 this is no document")

    event = DocumentFailed.model_validate_json((await announced.next_msg(timeout=10)).data)
    assert (event.doc_id, event.version, event.file_name) == (document.doc_id, 1, "bad.pdf")
    assert event.reason == document.reason


async def test_another_service_offers_a_document_by_event(stage: Stage) -> None:
    upload = await stage.put(b"The ticket costs ten francs.")

    await stage.bus.publish(DocumentOffered(kb_id="kb", upload=upload, file_name="price.txt", metadata={"year": 1999}))

    taken = await until(lambda: named(stage, "price.txt"))
    assert (await stage.settled(taken.doc_id)).metadata == {"year": 1999}
    assert await stage.texts("ticket") == ["The ticket costs ten francs."]


@pytest.mark.parametrize(
    "offer",
    [
        {"kb_id": "none", "file_name": "a.txt"},
        {"kb_id": "kb", "file_name": " "},
        {"kb_id": "kb", "file_name": "a.txt", "metadata": {"year": "x"}},
    ],
)
async def test_an_offer_that_can_not_be_taken_is_set_aside(stage: Stage, offer: dict[str, object]) -> None:
    dead = await stage.bus.client.subscribe(f"{DEAD_LETTER_SUBJECT}.>")

    await stage.bus.publish(DocumentOffered.model_validate({"upload": uuid4().hex, **offer}))

    letter = await dead.next_msg(timeout=10)
    assert letter.headers is not None
    assert letter.headers["Citewire-Reason"]


async def test_d04_a_cited_document_is_current_until_it_changes_and_goes(stage: Stage) -> None:
    kept = await stage.add("kept.txt", b"The museum is closed on Monday.")
    changed = await stage.add("changed.txt", b"The ticket costs ten francs.")
    removed = await stage.add("removed.txt", b"The tower has 200 steps.")
    await stage.add("changed.txt", b"The ticket costs twelve euros.")
    await stage.remove(removed)

    assert await states(stage, kept, changed, removed) == [
        SourceState.CURRENT,
        SourceState.CHANGED,
        SourceState.REMOVED,
    ]


async def test_d04_the_documents_of_a_removed_knowledge_base_are_removed(stage: Stage) -> None:
    document = await stage.add("kept.txt", b"The museum is closed on Monday.")

    await stage.bus.ask(RemoveKnowledgeBase(user=ADMIN, kb_id="kb"))

    assert await states(stage, document) == [SourceState.REMOVED]


async def test_e09_a_document_is_withheld_from_those_who_may_not_read_it(stage: Stage) -> None:
    await stage.create_kb("secret", access={"everyone": False, "users": ["friend"]})
    document = await stage.add("plan.txt", b"A buys B.", kb_id="secret")

    assert await states(stage, document, user=User(user_id="friend")) == [SourceState.CURRENT]
    assert await states(stage, document, user=User(user_id="stranger")) == [SourceState.WITHHELD]


async def test_e08_a_document_is_not_found_through_another_knowledge_base(stage: Stage) -> None:
    await stage.create_kb("secret", access={"everyone": False})
    document = await stage.add("plan.txt", b"A buys B.", kb_id="secret")
    moved = document.model_copy(update={"kb_id": "kb"})

    assert await states(stage, moved, user=User(user_id="stranger")) == [SourceState.REMOVED]
