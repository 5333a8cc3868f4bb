"""The stage: an uploaded file becomes the searched version of its document, or its failure is noted."""

import asyncio
import hashlib
from dataclasses import dataclass

from citewire.contracts.events import DocumentFailed, DocumentIndexed, DocumentSubmitted
from citewire.runtime.bus import Bus
from retriever.contents import Unreadable
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.store.documents import DocumentStore
from retriever.store.versions import VersionStore
from retriever.uploads import Uploads
from retriever.worker import Worker


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

    async def ingest_document(self, event: DocumentSubmitted) -> None:
        """Make an upload the searched version of its document; any step may have been done by an earlier delivery."""
        begun = await self.documents.begin(event.doc_id, event.version)
        if begun is not None and begun.version == event.version:
            await self._announce(event)
        elif begun is not None and not begun.is_settled:
            await self._read(event, begun.sha256)
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

    async def _read(self, event: DocumentSubmitted, current: bytes | None) -> None:
        data = await self.uploads.fetch(event.upload)
        if data is None:
            await self.give_up(event, "the upload is no longer there: send the file again")
            return
        sha256 = (await asyncio.to_thread(hashlib.sha256, data)).digest()
        if sha256 == current:
            await self.documents.finish_unchanged(event.doc_id, event.version)
            await self.register.refresh()
            return
        version = await self.reader.read_file(event.file_name, data)
        if isinstance(version, Unreadable):
            await self.give_up(event, version.reason)
            return
        await self.versions.store(event.doc_id, event.version, sha256, version, event.metadata)
        await self._announce(event)

    async def _announce(self, event: DocumentSubmitted) -> None:
        """The index first: a document that says "indexed" is found here."""
        await self.indexes.follow(event.kb_id)
        await self.documents.finish(event.doc_id, event.version)
        await self.register.refresh()
        await self.bus.publish(DocumentIndexed(kb_id=event.kb_id, doc_id=event.doc_id, version=event.version))
