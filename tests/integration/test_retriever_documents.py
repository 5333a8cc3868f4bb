"""Uploads become searched versions, and stop being so."""

import pytest

from citewire.contracts.knowledge import DocumentStatus, KnowledgeBase, NewKnowledgeBase
from citewire.contracts.requests import (
    CreateKnowledgeBase,
    GetDocument,
    ListDocuments,
    ReadPage,
    RemoveKnowledgeBase,
    SubmitDocument,
)
from citewire.contracts.streams import KB_BUCKET
from citewire.runtime.errors import Refusal
from citewire.runtime.registry import watch
from retriever_stage import ADMIN, Stage, until
from sample_files import pdf_file, shown

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("file_name", "data"),
    [
        ("facts.txt", b"The lighthouse was built in 1887."),
        ("facts.md", b"# Facts\n\nThe lighthouse was built in 1887.\n"),
        ("facts.html", b"<html><body><p>The lighthouse was built in 1887.</p></body></html>"),
        ("facts.pdf", pdf_file(shown("The lighthouse was built in 1887."))),
    ],
)
async def test_a_document_that_says_indexed_is_found(stage: Stage, file_name: str, data: bytes) -> None:
    document = await stage.add(file_name, data)

    (segment,) = (await stage.search("when was the lighthouse built")).segments

    assert document.status is DocumentStatus.INDEXED
    assert "The lighthouse was built in 1887." in segment.text
    assert (segment.doc_id, segment.version) == (document.doc_id, 1)
    assert segment.score > 0


async def test_d02_pages_are_counted_from_one(stage: Stage) -> None:
    await stage.add("guide.pdf", pdf_file(shown("Opening hours are nine to five."), shown("Tickets cost ten francs.")))

    (segment,) = [found for found in (await stage.search("ticket cost")).segments if "Tickets" in found.text]

    assert segment.pages[-1].number == 2
    assert min(page.number for page in segment.pages) >= 1


async def test_d08_a_text_file_has_no_pages(stage: Stage) -> None:
    document = await stage.add("notes.txt", b"Tickets cost ten francs.")

    (segment,) = (await stage.search("ticket cost")).segments

    assert document.pages == 0
    assert segment.pages == ()


async def test_a_segment_is_exactly_its_slice_of_the_text(stage: Stage) -> None:
    text = "第一章 灯塔建于1887年。👩‍🔬 " * 60
    document = await stage.add("long.txt", text.encode())

    segments = (await stage.search("灯塔")).segments
    whole = await stage.bus.ask(ReadPage(user=ADMIN, kb_id="kb", doc_id=document.doc_id))

    assert segments
    assert all(whole.page.text[segment.start : segment.end] == segment.text for segment in segments)


async def test_a_page_is_read_by_its_number(stage: Stage) -> None:
    document = await stage.add("guide.pdf", pdf_file(shown("Opening hours."), shown("Tickets cost ten francs.")))

    page = (await stage.bus.ask(ReadPage(user=ADMIN, kb_id="kb", doc_id=document.doc_id, number=2))).page

    assert page.page is not None
    assert page.page.number == 2
    assert page.text.strip() == "Tickets cost ten francs."
    assert len(page.text) == page.end - page.start


@pytest.mark.parametrize("number", [0, 3, None])
async def test_a_page_that_is_not_there_is_404(stage: Stage, number: int | None) -> None:
    document = await stage.add("guide.pdf", pdf_file(shown("Opening hours."), shown("Tickets cost ten francs.")))

    with pytest.raises(Refusal) as refusal:
        await stage.bus.ask(ReadPage(user=ADMIN, kb_id="kb", doc_id=document.doc_id, number=number))

    assert refusal.value.problem.status == 404


async def test_the_same_file_name_is_a_new_version_of_the_same_document(stage: Stage) -> None:
    first = await stage.add("price.txt", b"The ticket costs ten francs.")

    second = await stage.add("price.txt", b"The ticket costs twelve euros.")

    assert (second.doc_id, first.version, second.version) == (first.doc_id, 1, 2)
    assert await stage.texts("ticket") == ["The ticket costs twelve euros."]
    assert await stage.texts("francs") == []


async def test_the_same_content_again_is_no_new_version(stage: Stage) -> None:
    first = await stage.add("price.txt", b"The ticket costs ten francs.")

    second = await stage.add("price.txt", b"The ticket costs ten francs.")

    assert (second.doc_id, second.version, second.status) == (first.doc_id, 1, DocumentStatus.INDEXED)
    assert len(await stage.texts("ticket")) == 1


async def test_the_same_upload_submitted_twice_is_read_once(stage: Stage) -> None:
    first = await stage.submit("price.txt", b"The ticket costs ten francs.", upload="upload-1")
    await stage.settled(first.doc_id)

    again = await stage.bus.ask(SubmitDocument(user=ADMIN, kb_id="kb", file_name="price.txt", upload="upload-1"))

    assert (again.document.doc_id, again.document.version) == (first.doc_id, 1)
    assert again.document.status is DocumentStatus.INDEXED
    assert len(await stage.texts("ticket")) == 1


async def test_a_damaged_pdf_fails_with_a_reason_and_loses_nothing_else(stage: Stage) -> None:
    await stage.add("good.txt", b"The ticket costs ten francs.")

    damaged = await stage.add("bad.pdf", b"%PDX-1.4 this is no document")

    assert (damaged.status, damaged.version) == (DocumentStatus.FAILED, 0)
    assert damaged.reason
    assert await stage.texts("ticket") == ["The ticket costs ten francs."]


async def test_a_failed_new_version_leaves_the_old_one_searched(stage: Stage) -> None:
    await stage.add("guide.pdf", pdf_file(shown("The ticket costs ten francs.")))

    failed = await stage.add("guide.pdf", b"%PDX-1.4 this is no document")

    assert (failed.status, failed.version) == (DocumentStatus.FAILED, 1)
    assert len(await stage.texts("ticket")) == 1


async def test_an_upload_that_is_gone_fails_with_a_reason(stage: Stage) -> None:
    reply = await stage.bus.ask(SubmitDocument(user=ADMIN, kb_id="kb", file_name="lost.txt", upload="nowhere"))

    lost = await stage.settled(reply.document.doc_id)

    assert lost.status is DocumentStatus.FAILED
    assert "send the file again" in str(lost.reason)


async def test_an_upload_that_was_read_leaves_the_bucket(stage: Stage) -> None:
    await stage.submit("price.txt", b"The ticket costs ten francs.", upload="upload-1")

    assert await until(lambda: stage.is_taken("upload-1"))


async def test_a_removed_document_is_gone_at_once(stage: Stage) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.")

    await stage.remove(document)

    assert await stage.texts("ticket") == []
    with pytest.raises(Refusal) as refusal:
        await stage.bus.ask(GetDocument(user=ADMIN, kb_id="kb", doc_id=document.doc_id))
    assert refusal.value.problem.status == 404


async def test_d04_a_document_removed_while_it_is_read_is_never_found(stage: Stage) -> None:
    document = await stage.submit("price.txt", b"The ticket costs ten francs.", upload="upload-1")

    await stage.remove(document)

    assert await until(lambda: stage.is_taken("upload-1"))
    assert await stage.texts("ticket") == []


async def test_a_removed_documents_name_is_free_again(stage: Stage) -> None:
    first = await stage.add("price.txt", b"The ticket costs ten francs.")
    await stage.remove(first)

    second = await stage.add("price.txt", b"The ticket costs twelve euros.")

    assert (second.version, second.doc_id == first.doc_id) == (1, False)


async def test_g01_nul_in_a_file_name_is_dropped(stage: Stage) -> None:
    document = await stage.add("pri\0ce.txt", b"The ticket costs ten francs.")

    assert document.file_name == "price.txt"


@pytest.mark.parametrize("file_name", ["", " \n", "x" * 256])
async def test_a_name_that_is_no_file_name_is_refused(stage: Stage, file_name: str) -> None:
    with pytest.raises(Refusal) as refusal:
        await stage.bus.ask(SubmitDocument(user=ADMIN, kb_id="kb", file_name=file_name, upload="upload-1"))

    assert (refusal.value.problem.status, refusal.value.problem.errors[0].field) == (422, "file_name")


async def test_documents_are_listed_in_pages_by_file_name(stage: Stage) -> None:
    for name in ("c.txt", "a.txt", "b.txt"):
        await stage.add(name, f"The file {name}.".encode())

    first = await stage.bus.ask(ListDocuments(user=ADMIN, kb_id="kb", limit=2))
    second = await stage.bus.ask(ListDocuments(user=ADMIN, kb_id="kb", limit=2, cursor=first.next_cursor))

    assert [document.file_name for document in first.documents] == ["a.txt", "b.txt"]
    assert [document.file_name for document in second.documents] == ["c.txt"]
    assert second.next_cursor is None


async def test_a_taken_id_is_409(stage: Stage) -> None:
    with pytest.raises(Refusal) as refusal:
        await stage.bus.ask(CreateKnowledgeBase(user=ADMIN, kb=NewKnowledgeBase(kb_id="kb", title="Another")))

    assert refusal.value.problem.status == 409


async def test_a_removed_knowledge_base_takes_its_documents_with_it(stage: Stage) -> None:
    await stage.add("price.txt", b"The ticket costs ten francs.")

    await stage.bus.ask(RemoveKnowledgeBase(user=ADMIN, kb_id="kb"))
    await stage.create_kb()

    assert await stage.texts("ticket") == []
    assert (await stage.bus.ask(ListDocuments(user=ADMIN, kb_id="kb"))).documents == ()


async def test_nothing_is_taken_for_an_unknown_knowledge_base(stage: Stage) -> None:
    with pytest.raises(Refusal) as refusal:
        await stage.bus.ask(SubmitDocument(user=ADMIN, kb_id="none", file_name="a.txt", upload="upload-1"))

    assert refusal.value.problem.status == 404


async def test_the_register_counts_documents_and_chunks(stage: Stage) -> None:
    await stage.add("a.txt", b"The ticket costs ten francs.")
    document = await stage.add("b.txt", b"The museum is closed on Monday.")
    await stage.remove(document)

    async with watch(stage.bus, KB_BUCKET, KnowledgeBase) as register:
        kb = register.entries["kb"]

    assert (kb.documents, kb.chunks, kb.revision) == (1, 1, 3)
