"""Documents are searched at once with plain headers, and with a model's summaries once there are some."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from cryptography.fernet import Fernet
from pgvector.asyncpg import register_vector

from citewire.contracts.knowledge import Contextual, ContextualState, Document, DocumentStatus
from citewire.contracts.provenance import Usage
from citewire.contracts.requests import SummariseDocuments
from citewire.runtime.bus import Bus
from citewire.runtime.database import open_database
from citewire.runtime.errors import Refusal
from citewire.runtime.providers import Providers, open_providers
from context_stage import HANDBOOK, answer, open_library
from model_stage import provider
from retriever.store.contexts import ContextStore
from retriever.store.kbs import KbStore
from retriever.store.vectors import PendingChunk, Space, VectorStore
from retriever_stage import ADMIN, Stage, running_retriever, set_scripted_embedders, until
from scripted_embeddings import ScriptedEmbeddings
from scripted_model import ScriptedModel, pieces, silent, status

ANSWER = answer(sections=[{"number": 1, "summary": "Fares by locomotive."}, {"number": 2, "summary": "Emoluments."}])


@dataclass
class Model:
    """A scripted model and the settings that have it asked, or not."""

    server: ScriptedModel
    providers: Providers

    async def set_up(self, *, key: str | None = None, **fields: Any) -> None:
        settings = {"address": self.server.url, "protocol": "chat", "max_retries": 0, "sealed_key": ""} | fields
        entry = provider(**settings)
        if key is None:
            sealed = self.providers.sealer.seal(self.server.key, entry.name, entry.origin)
            entry = entry.model_copy(update={"sealed_key": sealed})
        await self.providers.registry.put(entry.name, entry)


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, retriever_settings: None) -> None:
    monkeypatch.setenv("CITEWIRE_MASTER_KEY", Fernet.generate_key().decode())
    monkeypatch.setenv("CITEWIRE_RETRIEVER_FOLLOW_INTERVAL", "0.1")


@pytest.fixture
async def model(bus: Bus) -> AsyncGenerator[Model]:
    async with ScriptedModel() as server, open_providers(bus) as providers:
        yield Model(server, providers)
        await providers.registry.remove("main")


@pytest.fixture
async def stage(model: Model) -> AsyncGenerator[Stage]:
    """A retriever that may ask the model about each document."""
    await model.set_up()
    async with running_retriever() as stage:
        await stage.create_kb()
        yield stage


@pytest.fixture
def embeddings(monkeypatch: pytest.MonkeyPatch, embeddings: ScriptedEmbeddings) -> ScriptedEmbeddings:
    set_scripted_embedders(monkeypatch, embeddings.url, "one")
    return embeddings


async def summarised(stage: Stage, document: Document, *states: ContextualState) -> Contextual:
    """What became of a document's headers, once it is in one of these states, or nobody is to be asked any more."""

    async def look() -> Contextual | None:
        now = (await stage.settled(document.doc_id)).contextual
        return now if now.state in states or not now.is_pending else None

    return await until(look)


async def test_a_chunk_is_found_by_the_words_of_its_summary_and_quoted_without_them(stage: Stage, model: Model) -> None:
    model.server.play(pieces(ANSWER))
    await stage.add("handbook.md", HANDBOOK.encode())

    async def look() -> list[str] | None:
        return await stage.texts("emoluments") or None

    texts = await until(look)
    assert all("Wages" in text and "Emoluments" not in text for text in texts)


async def test_the_document_says_what_its_headers_cost(stage: Stage, model: Model) -> None:
    model.server.play(pieces(ANSWER, usage=(900, 80)))
    document = await stage.add("handbook.md", HANDBOOK.encode())

    contextual = await summarised(stage, document)

    assert (contextual.state, contextual.sections) == (ContextualState.COMPLETE, 2)
    assert contextual.usage == Usage(input_tokens=900, output_tokens=80, requests=1)


async def test_a_document_is_searched_while_the_model_is_silent(stage: Stage, model: Model) -> None:
    model.server.play(silent())
    document = await stage.add("handbook.md", HANDBOOK.encode())

    contextual = await summarised(stage, document, ContextualState.SUMMARISING)

    assert contextual.state is ContextualState.SUMMARISING
    assert await stage.texts("rail tickets")


@pytest.mark.parametrize("lacking", [{"use_for_contextual": False}, {"enabled": False}, {"key": ""}])
async def test_h08_nothing_is_sent_unless_all_is_there_and_switched_on(model: Model, lacking: dict[str, Any]) -> None:
    await model.set_up(**lacking)

    async with running_retriever() as stage:
        await stage.create_kb()
        document = await stage.add("handbook.md", HANDBOOK.encode())

    assert document.contextual == Contextual()
    assert model.server.connections_ever == 0


async def test_a_document_is_indexed_whatever_the_model_does(stage: Stage, model: Model) -> None:
    model.server.play(status(401))
    document = await stage.add("handbook.md", HANDBOOK.encode())

    contextual = await summarised(stage, document)

    assert document.status is DocumentStatus.INDEXED
    assert contextual.state is ContextualState.FAILED
    assert "401" in str(contextual.reason)
    assert model.server.key not in contextual.model_dump_json()
    assert await stage.texts("rail tickets")


async def test_the_same_content_again_asks_nobody(stage: Stage, model: Model) -> None:
    model.server.play(pieces(ANSWER))
    first = await stage.add("handbook.md", HANDBOOK.encode())
    before = await summarised(stage, first)

    again = await stage.add("handbook.md", HANDBOOK.encode())

    assert (again.version, again.contextual) == (1, before)
    assert len(model.server.requests) == 1


async def test_vectors_are_made_once_with_the_summaries(model: Model, embeddings: ScriptedEmbeddings) -> None:
    await model.set_up()
    model.server.play(pieces(ANSWER, delay=0.5))

    async with running_retriever() as stage:
        await stage.create_kb(embedder="one")
        document = await stage.add("handbook.md", HANDBOOK.encode())

        async def look() -> Document | None:
            now = await stage.settled(document.doc_id)
            return now if now.status is DocumentStatus.EMBEDDED else None

        embedded = await until(look)

    inputs = [text for request in embeddings.requests for text in request["input"] if "Travel" in text]
    assert len(inputs) == embedded.chunks
    assert all("Governs employees." in text for text in inputs)


# Documents that were there before


async def asked_to_summarise(stage: Stage) -> dict[ContextualState, int] | None:
    """How many documents are in each state then; None as long as the retriever knows of no model."""
    try:
        return (await stage.bus.ask(SummariseDocuments(user=ADMIN, kb_id="kb"))).contexts.documents
    except Refusal as refusal:
        if refusal.problem.status != 409:
            raise
        return None


async def embedded(stage: Stage, document: Document) -> Document:
    async def look() -> Document | None:
        now = await stage.settled(document.doc_id)
        return now if now.status is DocumentStatus.EMBEDDED else None

    return await until(look)


async def test_nothing_is_summarised_while_no_model_may_be_asked(model: Model) -> None:
    await model.set_up(use_for_contextual=False)

    async with running_retriever() as stage:
        await stage.create_kb()
        document = await stage.add("handbook.md", HANDBOOK.encode())
        with pytest.raises(Refusal) as refused:
            await stage.bus.ask(SummariseDocuments(user=ADMIN, kb_id="kb"))
        after = await stage.settled(document.doc_id)

    assert refused.value.problem.status == 409
    assert "use_for_contextual" in str(refused.value.problem.detail)
    assert after.contextual == Contextual()


async def test_a_document_of_before_is_summarised_when_asked_for_and_stays_searched(
    model: Model, embeddings: ScriptedEmbeddings
) -> None:
    model.server.play(pieces(ANSWER, delay=0.5))
    legs: list[int] = []

    async with running_retriever() as stage:
        await stage.create_kb(embedder="one")
        document = await embedded(stage, await stage.add("handbook.md", HANDBOOK.encode()))
        await model.set_up()
        states = await until(lambda: asked_to_summarise(stage))

        async def is_embedded_anew() -> bool | None:
            found = (await stage.search("rail tickets")).legs
            legs.append(next(leg.hits for leg in found if leg.leg == "dense"))
            sent = [text for request in embeddings.requests for text in request["input"]]
            return True if sum("Governs employees." in text for text in sent) == document.chunks else None

        await until(is_embedded_anew)

    assert states[ContextualState.WAITING] + states[ContextualState.SUMMARISING] == 1
    assert set(legs) == {document.chunks}


@dataclass(frozen=True)
class Filled:
    """A knowledge base with one document, all of whose chunks have vectors, and a space of them."""

    contexts: ContextStore
    vectors: VectorStore
    kb_uid: UUID
    space: Space

    async def pending(self, limit: int = 64) -> list[PendingChunk]:
        return await self.vectors.pending(self.kb_uid, self.space, limit)

    async def add(self, chunks: list[PendingChunk], value: float) -> None:
        await self.vectors.add(self.space, chunks, np.full((len(chunks), 2), value, dtype=np.float32))

    async def renew_headers(self) -> None:
        await self.contexts.ask("kb")
        await self.contexts.call_up(1)
        claimed = await self.contexts.claim(60)
        assert claimed is not None
        headers = dict.fromkeys(range(len(await self.contexts.sections(claimed))), "A better header")
        await self.contexts.finish(claimed, "Handbook", headers, Contextual(state=ContextualState.COMPLETE))


@pytest.fixture
async def filled(database: str) -> AsyncGenerator[Filled]:
    async with open_library(database) as library, open_database(database, register_vector) as opened:
        await library.store("handbook.md", HANDBOOK, is_to_be_summarised=False)
        stored = await KbStore(opened).find("kb")
        assert stored is not None
        vectors = VectorStore(opened)
        await vectors.open_space(stored.uid, "one", "one", 2)
        (space,) = (await vectors.embedded(stored.uid)).spaces
        filled = Filled(ContextStore(opened), vectors, stored.uid, space)
        await filled.add(await filled.pending(), 0.5)
        yield filled


async def test_vectors_of_an_earlier_header_are_searched_until_there_are_new_ones(filled: Filled) -> None:
    before = len(await filled.vectors.search(filled.space, np.ones(2, dtype=np.float32), 64) or [])

    await filled.renew_headers()
    outdated = await filled.vectors.search(filled.space, np.ones(2, dtype=np.float32), 64) or []
    waiting = await filled.pending()
    await filled.add(waiting, 0.25)
    renewed = await filled.vectors.search(filled.space, np.ones(2, dtype=np.float32), 64) or []

    assert {chunk.header for chunk in waiting} == {"A better header"}
    assert len(waiting) == len(outdated) == len(renewed) == before
    assert ({hit.score for hit in outdated}, {hit.score for hit in renewed}) == ({1.0}, {0.5})
    assert await filled.pending() == []


async def test_new_vectors_may_come_in_several_steps(filled: Filled) -> None:
    await filled.renew_headers()
    waiting = await filled.pending()

    await filled.add(waiting[:1], 0.25)

    assert await filled.pending() == waiting[1:]


async def test_a_header_that_changes_while_it_is_embedded_is_embedded_again(filled: Filled) -> None:
    await filled.renew_headers()
    read = await filled.pending()
    before = [replace(chunk, header="The header that was read") for chunk in read]

    await filled.add(before, 0.25)

    assert await filled.pending() == read
