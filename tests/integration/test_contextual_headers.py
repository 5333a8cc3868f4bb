"""Documents are searched at once with plain headers, and with a model's summaries once there are some."""

from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from citewire.contracts.knowledge import Contextual, ContextualState, Document, DocumentStatus
from citewire.contracts.provenance import Usage
from citewire.runtime.bus import Bus
from citewire.runtime.providers import Providers, open_providers
from context_stage import HANDBOOK, answer
from embedded.servers import ServerUrls
from model_stage import provider
from retriever_stage import Stage, configure, running_retriever, set_scripted_embedders, until
from scripted_embeddings import ScriptedEmbeddings, scripted_embeddings
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
def settings(monkeypatch: pytest.MonkeyPatch, servers: ServerUrls, database: str, tmp_path: Path) -> None:
    configure(monkeypatch, servers, database, tmp_path)
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
def embeddings(monkeypatch: pytest.MonkeyPatch) -> Generator[ScriptedEmbeddings]:
    with scripted_embeddings() as server:
        set_scripted_embedders(monkeypatch, server.url, "one")
        yield server


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
