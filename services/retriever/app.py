"""The parts of the retriever."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from citewire.contracts.events import DocumentSubmitted, RetrievalRequested
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.requests import (
    CreateKnowledgeBase,
    GetDocument,
    ListDocuments,
    ReadPage,
    RemoveDocument,
    RemoveKnowledgeBase,
    Search,
    SubmitDocument,
)
from citewire.contracts.streams import KB_BUCKET
from citewire.runtime.database import open_database
from citewire.runtime.delivery import Consumer
from citewire.runtime.migrations import migrate
from citewire.runtime.provision import INGESTER, SEARCHER
from citewire.runtime.registry import watch
from citewire.runtime.service import Bindings, Responder, Service, Wires
from retriever.handlers.requests import Librarian
from retriever.handlers.searches import Finder
from retriever.handlers.uploads import Ingester
from retriever.index.folder import own_folder
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.search import Searcher
from retriever.settings import Settings
from retriever.store.documents import DocumentStore
from retriever.store.kbs import KbStore
from retriever.store.versions import VersionStore
from retriever.upkeep import Upkeep
from retriever.uploads import open_uploads
from retriever.worker import Worker

MIGRATIONS = Path(__file__).parent / "migrations"


def create_app() -> Service:
    """The service, not yet started."""
    settings = Settings()

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        await migrate(settings.postgres_url, "knowledge", MIGRATIONS)
        async with (
            open_database(settings.postgres_url) as database,
            watch(wires.bus.js, KB_BUCKET, KnowledgeBase) as entries,
            Worker(settings.reading_limit) as reader,
            Worker(settings.reading_limit) as tokeniser,
        ):
            with own_folder(settings.data_dir) as folder:
                kbs, documents, versions = KbStore(database), DocumentStore(database), VersionStore(database)
                register = Register(entries, kbs)
                indexes = IndexFollower(kbs, versions, tokeniser, folder / "lexical", settings.header_boost)
                searcher = Searcher(register, indexes, versions, settings.segment_characters)
                uploads = await open_uploads(wires.bus.js)
                librarian = Librarian(wires.bus, kbs, documents, indexes, register)
                ingester = Ingester(wires.bus, uploads, reader, documents, versions, indexes, register)
                upkeep = Upkeep(kbs, register, indexes, settings.follow_interval)
                async with upkeep.running(wires.bus.client):
                    await librarian.resubmit_waiting()
                    yield _bind(Finder(wires.bus, searcher), ingester, librarian)

    return Service("retriever", start)


def _bind(finder: Finder, ingester: Ingester, librarian: Librarian) -> Bindings:
    return Bindings(
        consumers=(
            Consumer(SEARCHER, RetrievalRequested, finder.search_kb, finder.give_up),
            Consumer(INGESTER, DocumentSubmitted, ingester.ingest_document, ingester.give_up),
        ),
        responders=(
            Responder(CreateKnowledgeBase, librarian.create_kb),
            Responder(RemoveKnowledgeBase, librarian.remove_kb),
            Responder(SubmitDocument, librarian.submit_document),
            Responder(GetDocument, librarian.get_document),
            Responder(ListDocuments, librarian.list_documents),
            Responder(RemoveDocument, librarian.remove_document),
            Responder(ReadPage, librarian.read_page),
            Responder(Search, finder.search),
        ),
    )
