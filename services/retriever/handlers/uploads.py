"""The stage: an uploaded file becomes the searched version of its document, or its failure is noted."""

import asyncio
import hashlib
from dataclasses import dataclass, field

from citewire.contracts.events import DocumentFailed, DocumentIndexed, DocumentSubmitted
from citewire.runtime.bus import Bus
from retriever.contents import Unreadable
from retriever.contexts import ContextBacklog
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.store.documents import DocumentStore
from retriever.store.versions import VersionStore
from retriever.uploads import Uploads
from retriever.worker import Worker

# Uploads that are in memory at a time.
_READ_AT_ONCE = 4


@dataclass(frozen=True)
class Ingester:
    """Turns uploads into searched versions."""

    bus: Bus
    uploads: Uploads
    reader: Worker
    documents: DocumentStore
    versions: VersionStore
    indexes: IndexFollower
    register: Register
    contexts: ContextBacklog
    reading: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_READ_AT_ONCE))

    async def ingest_document(self, event: DocumentSubmitted) -> None:
        """Make an upload the searched version of its document; any step may have been done by an earlier delivery."""
        begun = await self.documents.begin(event.doc_id, event.version)
        if begun is not None:
            is_stored = begun.version == event.version
            if not is_stored and not begun.is_settled:
                async with self.reading:
                    is_stored = await self._read(event, begun.sha256)
            if is_stored:
                await self._announce(event)
        await self.uploads.delete(event.upload)

    async def give_up(self, event: DocumentSubmitted, reason: str) -> None:
        """Say why an upload was not taken; the version before it stays searched."""
        noted = await self.documents.fail(event.doc_id, event.version, reason)
        if noted is not None:
            await self.bus.publish(
                DocumentFailed(
                    kb_id=event.kb_id,
                    doc_id=event.doc_id,
                    version=event.version,
                    file_name=event.file_name,
                    reason=noted,
                )
            )

    async def _read(self, event: DocumentSubmitted, current: bytes | None) -> bool:
        """Whether the upload is stored as a version that is to be searched from now on."""
        data = await self.uploads.fetch(event.upload)
        if data is None:
            await self.give_up(event, "the upload is no longer there: send the file again")
            return False
        sha256 = (await asyncio.to_thread(hashlib.sha256, data)).digest()
        if sha256 == current:
            await self.documents.finish_unchanged(event.doc_id, event.version)
            await self.register.refresh()
            return False
        version = await self.reader.read_file(event.file_name, data)
        if isinstance(version, Unreadable):
            await self.give_up(event, version.reason)
            return False
        is_wanted = self.contexts.is_wanted
        await self.versions.store(
            event.doc_id, event.version, sha256, version, event.metadata, is_to_be_summarised=is_wanted
        )
        if is_wanted:
            self.contexts.wake()
        return True

    async def _announce(self, event: DocumentSubmitted) -> None:
        """The index first: a document that says "indexed" is found here."""
        await self.indexes.follow(event.kb_id)
        await self.documents.finish(event.doc_id, event.version)
        await self.register.refresh()
        await self.bus.publish(DocumentIndexed(kb_id=event.kb_id, doc_id=event.doc_id, version=event.version))
