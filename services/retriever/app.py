"""The parts of the retriever."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pgvector.asyncpg import register_vector

from citewire.contracts.events import DocumentOffered, DocumentSubmitted, RetrievalRequested
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.providers import Purpose
from citewire.contracts.requests import (
    CheckDocuments,
    CreateKnowledgeBase,
    GetContexts,
    GetDocument,
    GetEmbedding,
    ListDocuments,
    ReadPage,
    RemoveDocument,
    RemoveKnowledgeBase,
    Search,
    SubmitDocument,
    SummariseDocuments,
    UpdateKnowledgeBase,
)
from citewire.contracts.streams import KB_BUCKET
from citewire.runtime.bus import Bus
from citewire.runtime.database import Database, open_database
from citewire.runtime.delivery import Consumer
from citewire.runtime.migrations import migrate
from citewire.runtime.providers import Providers, open_providers
from citewire.runtime.provision import INGESTER, OFFER_TAKER, put_consumers, searcher_of
from citewire.runtime.registry import Registry, watch
from citewire.runtime.service import Bindings, Responder, Service, Wires
from citewire.runtime.settings import RuntimeSettings
from retriever.backlog import EmbeddingBacklog
from retriever.contexts import ContextBacklog
from retriever.dense import DenseLeg
from retriever.embedding.embedders import Embedders, open_embedders
from retriever.handlers.progress import EmbeddingProgress
from retriever.handlers.requests import Librarian
from retriever.handlers.searches import Finder
from retriever.handlers.summaries import Summariser
from retriever.handlers.uploads import Ingester
from retriever.index.folder import own_folder
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.rerank import RerankLeg
from retriever.reranking.rerankers import Rerankers, open_rerankers
from retriever.search import Searcher
from retriever.settings import Settings
from retriever.store.contexts import ContextStore
from retriever.store.documents import DocumentStore
from retriever.store.kbs import KbStore
from retriever.store.passages import PassageStore
from retriever.store.vectors import VectorStore
from retriever.store.versions import VersionStore
from retriever.upkeep import Upkeep
from retriever.uploads import open_uploads
from retriever.worker import Worker

MIGRATIONS = Path(__file__).parent / "migrations"

# Neighbours that a vector index looks at for each query, and more as long as filters leave too few; compiling a
# statement takes longer than going through all vectors.
_SESSION_SETTINGS = {"hnsw.ef_search": "100", "hnsw.iterative_scan": "strict_order", "jit": "off"}


@dataclass(frozen=True)
class _Opened:
    """What is opened before the parts that use it, and closed after them; `folder` is this process's own."""

    database: Database
    entries: Registry[KnowledgeBase]
    reader: Worker
    tokeniser: Worker
    embedders: Embedders
    rerankers: Rerankers
    providers: Providers
    folder: Path


def create_app() -> Service:
    """The service, not yet started."""
    return Service("retriever", partial(_start, Settings()))


@contextlib.asynccontextmanager
async def _start(settings: Settings, wires: Wires) -> AsyncGenerator[Bindings]:
    await migrate(settings.postgres_url, "knowledge", MIGRATIONS)
    # The default pool's is there already; a pool of an operator's own comes with its first process.
    await put_consumers(wires.bus.js, (searcher_of(settings.pool),), RuntimeSettings().max_replicas)
    async with _open(settings, wires.bus) as opened, _bindings(settings, wires.bus, opened) as bindings:
        yield bindings


@contextlib.asynccontextmanager
async def _open(settings: Settings, bus: Bus) -> AsyncGenerator[_Opened]:
    async with (
        open_database(settings.postgres_url, register_vector, _SESSION_SETTINGS) as database,
        watch(bus, KB_BUCKET, KnowledgeBase) as entries,
        Worker(settings.reading_limit) as reader,
        Worker(settings.reading_limit) as tokeniser,
        open_embedders(settings.embedders, settings.embedding_dir or settings.data_dir) as embedders,
        open_rerankers(settings.rerankers) as rerankers,
        open_providers(bus, [Purpose.CONTEXTUAL]) as providers,
    ):
        with own_folder(settings.data_dir) as folder:
            yield _Opened(database, entries, reader, tokeniser, embedders, rerankers, providers, folder)


@contextlib.asynccontextmanager
async def _bindings(settings: Settings, bus: Bus, opened: _Opened) -> AsyncGenerator[Bindings]:
    """The stages, and what works beside them as long as the block lasts."""
    database = opened.database
    kbs, documents = KbStore(database), DocumentStore(database)
    versions, vectors = VersionStore(database), VectorStore(database)
    register = Register(opened.entries, kbs)
    indexes = IndexFollower(
        kbs, versions, opened.tokeniser, opened.folder / "lexical", settings.header_boost, settings.pool
    )
    contexts = _contexts(settings, opened)
    librarian = Librarian(bus, kbs, documents, indexes, register, settings.embedders, settings.rerankers)
    uploads = await open_uploads(bus.js)
    ingester = Ingester(bus, uploads, opened.reader, documents, versions, indexes, register, contexts)
    backlog = EmbeddingBacklog(database, vectors, opened.embedders, settings.follow_interval)
    progress = EmbeddingProgress(register, kbs, vectors, backlog)
    summariser = Summariser(register, ContextStore(database), contexts)
    upkeep = Upkeep(kbs, vectors, register, indexes, backlog, settings.follow_interval, settings.pool)
    async with backlog.running(), contexts.running(), upkeep.running(bus.client):
        await librarian.resubmit_waiting()
        finder = Finder(bus, _searcher(settings, opened, register, indexes))
        yield _bind(settings.pool, finder, ingester, librarian, progress, summariser)


def _contexts(settings: Settings, opened: _Opened) -> ContextBacklog:
    return ContextBacklog(
        ContextStore(opened.database),
        opened.providers,
        settings.contextual_limit,
        settings.contextual_sections,
        settings.contextual_at_once,
        settings.follow_interval,
    )


def _searcher(settings: Settings, opened: _Opened, register: Register, indexes: IndexFollower) -> Searcher:
    vectors, passages = VectorStore(opened.database), PassageStore(opened.database)
    return Searcher(
        register,
        indexes,
        DenseLeg(vectors, opened.embedders),
        RerankLeg(opened.rerankers, passages),
        passages,
        settings.segment_characters,
    )


def _bind(  # noqa: PLR0913, PLR0917 - one stage each
    pool: str,
    finder: Finder,
    ingester: Ingester,
    librarian: Librarian,
    progress: EmbeddingProgress,
    summariser: Summariser,
) -> Bindings:
    return Bindings(
        consumers=(
            Consumer(searcher_of(pool), RetrievalRequested, finder.search_kb, finder.give_up),
            Consumer(INGESTER, DocumentSubmitted, ingester.ingest_document, ingester.give_up),
            Consumer(OFFER_TAKER, DocumentOffered, librarian.offer_document),
        ),
        responders=(
            Responder(CreateKnowledgeBase, librarian.create_kb),
            Responder(UpdateKnowledgeBase, librarian.update_kb),
            Responder(RemoveKnowledgeBase, librarian.remove_kb),
            Responder(GetEmbedding, progress.get_embedding),
            Responder(GetContexts, summariser.get_contexts),
            Responder(SummariseDocuments, summariser.summarise_documents),
            Responder(SubmitDocument, librarian.submit_document),
            Responder(GetDocument, librarian.get_document),
            Responder(ListDocuments, librarian.list_documents),
            Responder(RemoveDocument, librarian.remove_document),
            Responder(ReadPage, librarian.read_page),
            Responder(CheckDocuments, librarian.check_documents),
            Responder(Search, finder.search, (pool,)),
        ),
    )
