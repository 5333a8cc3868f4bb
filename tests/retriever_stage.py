"""The retriever running against real servers, and what a test does with it."""

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar
from uuid import UUID, uuid4

import pytest
from nats.js.errors import NotFoundError

from citewire.contracts.events import RetrievalRequested, SegmentsFound
from citewire.contracts.evidence import SearchQuery
from citewire.contracts.identity import Role, User
from citewire.contracts.knowledge import Document, DocumentStatus, KnowledgeBase, Metadata, NewKnowledgeBase
from citewire.contracts.requests import (
    CreateKnowledgeBase,
    DocumentReply,
    GetDocument,
    RemoveDocument,
    RemoveKnowledgeBase,
    Search,
    SearchReply,
    SubmitDocument,
)
from citewire.contracts.streams import KB_BUCKET, UPLOAD_BUCKET
from citewire.runtime import connection, process
from citewire.runtime.bus import Bus
from citewire.runtime.registry import watch
from citewire.runtime.service import Bindings
from citewire.runtime.settings import RuntimeSettings
from embedded.servers import ServerUrls
from retriever.app import create_app

T = TypeVar("T")

# Seconds between two looks for what has to come.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.1

ADMIN = User(user_id="admin", role=Role.ADMINISTRATOR)
# What says that a document's newest upload was dealt with.
FINAL = (DocumentStatus.INDEXED, DocumentStatus.EMBEDDED, DocumentStatus.FAILED)


async def until(look: Callable[[], Awaitable[T | None]], seconds: float = 20) -> T:
    """What `look` finds, soon after it can be found: looking takes time from what it waits for."""
    pause = _FIRST_PAUSE
    async with asyncio.timeout(seconds):
        while (found := await look()) is None:
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE)
        return found


@dataclass(frozen=True)
class Stage:
    """A started retriever, seen from the bus; `bindings` are what this one among several would be called by."""

    bus: Bus
    bindings: Bindings

    async def create_kb(self, kb_id: str = "kb", **settings: object) -> KnowledgeBase:
        new = NewKnowledgeBase.model_validate({"kb_id": kb_id, "title": kb_id, "embedder": "none"} | settings)
        return (await self.bus.ask(CreateKnowledgeBase(user=ADMIN, kb=new))).kb

    async def clear(self) -> None:
        """Remove all knowledge bases."""
        async with watch(self.bus, KB_BUCKET, KnowledgeBase) as register:
            kb_ids = list(register.entries)
        for kb_id in kb_ids:
            await self.bus.ask(RemoveKnowledgeBase(user=ADMIN, kb_id=kb_id))

    async def put(self, data: bytes, upload: str = "") -> str:
        """Put a file into the upload bucket; its name there."""
        name = upload or uuid4().hex
        bucket = await self.bus.js.object_store(UPLOAD_BUCKET)
        await bucket.put(name, io.BytesIO(data))
        return name

    async def submit(
        self, file_name: str, data: bytes, *, kb_id: str = "kb", upload: str = "", metadata: Metadata | None = None
    ) -> Document:
        """Send a file; the document as it is right after."""
        name = await self.put(data, upload)
        request = SubmitDocument(user=ADMIN, kb_id=kb_id, file_name=file_name, upload=name, metadata=metadata or {})
        return (await self.bus.ask(request)).document

    async def add(
        self, file_name: str, data: bytes, *, kb_id: str = "kb", metadata: Metadata | None = None
    ) -> Document:
        """Send a file and wait until it is indexed or failed."""
        submitted = await self.submit(file_name, data, kb_id=kb_id, metadata=metadata)
        return await self.settled(submitted.doc_id, kb_id=kb_id)

    async def settled(self, doc_id: UUID, *, kb_id: str = "kb") -> Document:
        async def look() -> Document | None:
            reply: DocumentReply = await self.bus.ask(GetDocument(user=ADMIN, kb_id=kb_id, doc_id=doc_id))
            return reply.document if reply.document.status in FINAL else None

        return await until(look)

    async def remove(self, document: Document) -> None:
        await self.bus.ask(RemoveDocument(user=ADMIN, kb_id=document.kb_id, doc_id=document.doc_id))

    async def search(self, query: str, *, kb_id: str = "kb", top_k: int = 8, **options: object) -> SearchReply:
        request = {"user": ADMIN, "kb_id": kb_id, "query": query, "top_k": top_k, **options}
        return await self.bus.ask(Search.model_validate(request))

    async def texts(self, query: str, *, kb_id: str = "kb") -> list[str]:
        """The texts that a search finds."""
        return [segment.text for segment in (await self.search(query, kb_id=kb_id)).segments]

    async def retrieve(
        self, *queries: str, kb_id: str = "kb", top_k: int = 8, user: User | None = ADMIN
    ) -> SegmentsFound:
        """What is published for a retrieval request."""
        event = RetrievalRequested(
            question_id=uuid4(),
            deadline=datetime.now(UTC) + timedelta(seconds=10),
            kb_id=kb_id,
            queries=tuple(SearchQuery(query=query, kb_id=kb_id) for query in queries),
            top_k=top_k,
            user=user,
        )
        subscription = await self.bus.client.subscribe(f"{SegmentsFound.subject}.{event.question_id}.*")
        try:
            await self.bus.publish(event)
            message = await subscription.next_msg(timeout=10)
        finally:
            await subscription.unsubscribe()
        return SegmentsFound.model_validate_json(message.data)

    async def is_taken(self, upload: str) -> bool | None:
        """True once an upload has left the bucket: the last step of reading it."""
        bucket = await self.bus.js.object_store(UPLOAD_BUCKET)
        try:
            await bucket.get_info(upload)
        except NotFoundError:
            return True
        return None


def configure(monkeypatch: pytest.MonkeyPatch, servers: ServerUrls, database: str, folder: Path) -> None:
    """Point the retriever to a test's own database and folder."""
    monkeypatch.setenv("CITEWIRE_NATS_URL", servers.nats)
    monkeypatch.setenv("CITEWIRE_REDIS_URL", servers.redis)
    monkeypatch.setenv("CITEWIRE_POSTGRES_URL", database)
    monkeypatch.setenv("CITEWIRE_RETRIEVER_DATA_DIR", str(folder))


def set_scripted_embedders(monkeypatch: pytest.MonkeyPatch, url: str, *names: str) -> None:
    """Set up embedders of these names, all at a scripted server, and have the backlog looked at often."""
    embedders = {name: {"kind": "openai", "base_url": url, "model": name} for name in names}
    monkeypatch.setenv("CITEWIRE_RETRIEVER_EMBEDDERS", json.dumps(embedders))
    monkeypatch.setenv("CITEWIRE_RETRIEVER_FOLLOW_INTERVAL", "0.2")


@contextlib.asynccontextmanager
async def running_retriever() -> AsyncGenerator[Stage]:
    """The service as a process would run it, its settings taken from the environment."""
    async with (
        connection.connect(RuntimeSettings()) as (broker, wires),
        create_app().start(wires) as bindings,
        process.working(broker, wires.bus, [bindings], graceful_timeout=5),
    ):
        yield Stage(wires.bus, bindings)
