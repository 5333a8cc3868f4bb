"""The parts of the retriever."""

import contextlib
from collections.abc import AsyncGenerator
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
from citewire.runtime.database import open_database
from citewire.runtime.delivery import Consumer
from citewire.runtime.migrations import migrate
from citewire.runtime.providers import open_providers
from citewire.runtime.provision import INGESTER, OFFER_TAKER, put_consumers, searcher_of
from citewire.runtime.registry import watch
from citewire.runtime.service import Bindings, Responder, Service, Wires
from citewire.runtime.settings import RuntimeSettings
from retriever.backlog import EmbeddingBacklog
from retriever.contexts import ContextBacklog
from retriever.dense import DenseLeg
from retriever.embedding.embedders import open_embedders
from retriever.handlers.progress import EmbeddingProgress
from retriever.handlers.requests import Librarian
from retriever.handlers.searches import Finder
from retriever.handlers.summaries import Summariser
from retriever.handlers.uploads import Ingester
from retriever.index.folder import own_folder
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.rerank import RerankLeg
from retriever.reranking.rerankers import open_rerankers
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


def create_app() -> Service:
    """The service, not yet started."""
    settings = Settings()

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        await migrate(settings.postgres_url, "knowledge", MIGRATIONS)
        # The default pool's is there already; a pool of an operator's own comes with its first process.
        await put_consumers(wires.bus.js, (searcher_of(settings.pool),), RuntimeSettings().max_replicas)
        async with (
            open_database(settings.postgres_url, register_vector, _SESSION_SETTINGS) as database,
            watch(wires.bus, KB_BUCKET, KnowledgeBase) as entries,
            Worker(settings.reading_limit) as reader,
            Worker(settings.reading_limit) as tokeniser,
            open_embedders(settings.embedders, settings.embedding_dir or settings.data_dir) as embedders,
            open_rerankers(settings.rerankers) as rerankers,
            open_providers(wires.bus, [Purpose.CONTEXTUAL]) as providers,
        ):
            with own_folder(settings.data_dir) as folder:
                kbs, documents, versions = KbStore(database), DocumentStore(database), VersionStore(database)
                vectors, passages = VectorStore(database), PassageStore(database)
                register = Register(entries, kbs)
                indexes = IndexFollower(
                    kbs, versions, tokeniser, folder / "lexical", settings.header_boost, settings.pool
                )
                searcher = Searcher(
                    register,
                    indexes,
                    DenseLeg(vectors, embedders),
                    RerankLeg(rerankers, passages),
                    passages,
                    settings.segment_characters,
                )
                uploads = await open_uploads(wires.bus.js)
                librarian = Librarian(
                    wires.bus, kbs, documents, indexes, register, settings.embedders, settings.rerankers
                )
                context_store = ContextStore(database)
                contexts = ContextBacklog(
                    context_store,
                    providers,
                    settings.contextual_limit,
                    settings.contextual_sections,
                    settings.contextual_at_once,
                    settings.follow_interval,
                )
                ingester = Ingester(wires.bus, uploads, reader, documents, versions, indexes, register, contexts)
                backlog = EmbeddingBacklog(database, vectors, embedders, settings.follow_interval)
                progress = EmbeddingProgress(register, kbs, vectors, backlog)
                summariser = Summariser(register, context_store, contexts)
                upkeep = Upkeep(kbs, vectors, register, indexes, backlog, settings.follow_interval, settings.pool)
                async with backlog.running(), contexts.running(), upkeep.running(wires.bus.client):
                    await librarian.resubmit_waiting()
                    finder = Finder(wires.bus, searcher)
                    yield _bind(settings.pool, finder, ingester, librarian, progress, summariser)

    return Service("retriever", start)


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
