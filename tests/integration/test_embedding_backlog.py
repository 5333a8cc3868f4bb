"""Vectors follow the words of a document, and never outlive its version."""

from collections.abc import AsyncGenerator

import pytest

from citewire.contracts.evidence import Leg
from citewire.contracts.identity import Role, User
from citewire.contracts.knowledge import Document, DocumentStatus, KnowledgeBaseChanges, NewKnowledgeBase
from citewire.contracts.requests import GetEmbedding, RemoveKnowledgeBase, UpdateKnowledgeBase
from citewire.runtime.database import open_database
from citewire.runtime.errors import TransientError
from citewire.runtime.migrations import migrate
from retriever import backlog
from retriever.app import MIGRATIONS
from retriever.store.kbs import KbStore
from retriever.store.vectors import VectorStore
from retriever_stage import Stage, running_retriever, set_scripted_embedders, until
from scripted_embeddings import Answer, ScriptedEmbeddings

ADMIN = User(user_id="admin", role=Role.ADMINISTRATOR)


@pytest.fixture
async def stage(
    monkeypatch: pytest.MonkeyPatch, retriever_settings: None, embeddings: ScriptedEmbeddings
) -> AsyncGenerator[Stage]:
    set_scripted_embedders(monkeypatch, embeddings.url, "one", "two")
    async with running_retriever() as stage:
        await stage.create_kb(embedder="one")
        yield stage


async def embedded(stage: Stage, document: Document) -> Document:
    """The document once all its chunks have vectors."""

    async def look() -> Document | None:
        now = await stage.settled(document.doc_id)
        return now if now.status is DocumentStatus.EMBEDDED else None

    return await until(look)


async def dense_leg(stage: Stage, query: str = "ticket") -> Leg:
    legs = (await stage.search(query)).legs
    return next(leg for leg in legs if leg.leg == "dense")


async def vectors(database: str) -> list[int]:
    """The chunk ids in all tables of vectors."""
    async with open_database(database) as opened:
        spaces = await opened.rows("SELECT space_id FROM knowledge.spaces")
        tables = [f"knowledge.vectors_{row['space_id']}" for row in spaces]
        return [row["chunk_id"] for table in tables for row in await opened.rows(f"TABLE {table}")]


async def test_a_document_is_found_by_its_words_before_it_has_vectors(
    stage: Stage, embeddings: ScriptedEmbeddings
) -> None:
    embeddings.script.extend([Answer(503, {})] * 100)

    await stage.add("a.txt", b"The ticket costs ten francs.")
    found = await stage.search("ticket")

    assert [segment.text for segment in found.segments] == ["The ticket costs ten francs."]
    assert (found.legs[1].ready, found.legs[1].total) == (0, 1)
    assert found.legs[1].skipped or found.legs[1].error


async def test_vectors_follow_and_the_leg_says_how_far_they_are(stage: Stage) -> None:
    document = await stage.add("a.txt", b"The ticket costs ten francs.")

    await embedded(stage, document)
    leg = await until(lambda: _ready(stage))

    assert (leg.hits, leg.ready, leg.total, leg.skipped, leg.error) == (1, 1, 1, None, None)


async def _ready(stage: Stage) -> Leg | None:
    leg = await dense_leg(stage)
    return leg if leg.ready else None


async def test_header_and_text_are_embedded(stage: Stage, embeddings: ScriptedEmbeddings) -> None:
    document = await stage.add("prices.md", b"# Prices\n\nThe ticket costs ten francs.\n")

    await embedded(stage, document)

    sent = [text for request in embeddings.requests for text in request["input"]]
    assert any(text.startswith("Prices") and text.endswith("ten francs.") for text in sent)


async def test_r5_vectors_of_a_replaced_version_are_gone(stage: Stage, database: str) -> None:
    document = await stage.add("a.txt", b"The ticket costs ten francs.")
    await embedded(stage, document)
    before = await vectors(database)

    await stage.add("a.txt", b"The ticket costs twelve euros.")
    await embedded(stage, document)

    after = await vectors(database)
    assert (len(before), len(after), set(before) & set(after)) == (1, 1, set())


async def test_d04_vectors_of_a_removed_document_are_gone_at_once(stage: Stage, database: str) -> None:
    document = await stage.add("a.txt", b"The ticket costs ten francs.")
    await embedded(stage, document)

    await stage.remove(document)

    assert await vectors(database) == []


async def test_a_changed_embedder_embeds_anew_without_a_gap(stage: Stage, embeddings: ScriptedEmbeddings) -> None:
    document = await stage.add("a.txt", b"The ticket costs ten francs.")
    await embedded(stage, document)
    await until(lambda: _ready(stage))

    update = UpdateKnowledgeBase(user=ADMIN, kb_id="kb", changes=KnowledgeBaseChanges(embedder="two"))
    await stage.bus.ask(update)
    seen: list[Leg] = []

    async def by_the_new_one() -> bool | None:
        seen.append(await dense_leg(stage))
        reply = await stage.bus.ask(GetEmbedding(user=ADMIN, kb_id="kb"))
        return True if reply.embedding.chunks == 1 and embeddings.requests[-1]["model"] == "two" else None

    await until(by_the_new_one)

    assert [leg for leg in seen if leg.hits != 1] == []


async def test_many_vectors_are_searched_by_an_index(
    stage: Stage, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "EXACT_ROWS", 2)
    documents = [await stage.add(f"{number}.txt", f"Ticket number {number}.".encode()) for number in range(4)]
    await embedded(stage, documents[-1])

    async def is_indexed() -> bool | None:
        async with open_database(database) as opened:
            row = await opened.row("SELECT true FROM knowledge.spaces WHERE is_indexed")
        return True if row is not None else None

    await until(is_indexed)

    assert (await dense_leg(stage)).hits == 4


async def test_a_knowledge_base_without_embedder_says_so(stage: Stage) -> None:
    await stage.create_kb("words", embedder="none")

    legs = (await stage.search("ticket", kb_id="words")).legs

    assert legs[1].skipped == "no embedder is set"


async def test_what_stops_the_embedder_is_told(stage: Stage, embeddings: ScriptedEmbeddings) -> None:
    embeddings.script.extend([Answer(401, {"error": {"message": "bad key"}})] * 1000)
    await stage.add("a.txt", b"The ticket costs ten francs.")

    async def reason() -> str | None:
        return (await stage.bus.ask(GetEmbedding(user=ADMIN, kb_id="kb"))).embedding.reason

    assert "does not accept the API key" in await until(reason)


async def test_a_removed_knowledge_base_leaves_no_vectors(stage: Stage, database: str) -> None:
    document = await stage.add("a.txt", b"The ticket costs ten francs.")
    await embedded(stage, document)

    await stage.bus.ask(RemoveKnowledgeBase(user=ADMIN, kb_id="kb"))

    async def is_gone() -> bool | None:
        async with open_database(database) as opened:
            left = await opened.row("SELECT (SELECT count(*) FROM knowledge.kbs) + count(*) AS n FROM knowledge.spaces")
            return True if left is not None and left["n"] == 0 else None

    assert await until(is_gone)


async def test_a_removed_knowledge_base_stays_until_its_vectors_are_gone(database: str) -> None:
    await migrate(database, "knowledge", MIGRATIONS)
    async with open_database(database) as opened:
        kbs, vectors = KbStore(opened), VectorStore(opened)
        await kbs.create(NewKnowledgeBase(kb_id="kb", title="KB"))
        stored = await kbs.find("kb")
        assert stored is not None
        await vectors.open_space(stored.uid, "one", "model", 3)
        await kbs.remove("kb")

        await kbs.purge()
        before = await opened.rows("SELECT FROM knowledge.kbs")
        await vectors.drop_orphaned()
        await kbs.purge()

        assert (len(before), await opened.rows("SELECT FROM knowledge.kbs")) == (1, [])


async def test_vectors_that_are_dropped_while_they_are_made_can_be_tried_again(stage: Stage, database: str) -> None:
    document = await stage.add("a.txt", b"The ticket costs ten francs.")
    await embedded(stage, document)
    async with open_database(database) as opened:
        store = VectorStore(opened)
        kb = await opened.row("SELECT kb_uid FROM knowledge.kbs")
        assert kb is not None
        (space,) = (await store.embedded(kb["kb_uid"])).spaces
        await stage.bus.ask(RemoveKnowledgeBase(user=ADMIN, kb_id="kb"))
        await store.drop(space.space_id)

        with pytest.raises(TransientError):
            await store.pending(kb["kb_uid"], space, 1)
