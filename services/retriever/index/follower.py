"""The lexical indexes of this process: each follows Postgres by its knowledge base's revision."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from citewire.contracts.knowledge import DEFAULT_POOL
from retriever.index.lexical import IndexedChunk, IndexedDocument, LexicalIndex, delete_index
from retriever.store.kbs import KbStore, StoredKb
from retriever.store.versions import ChangedDocument, VersionStore
from retriever.worker import Worker

# Seconds for which a change waits for others at most. A commit of a hundred chunks costs four times what they cost
# within one of thousands, and what is committed in many parts is merged more often.
_LONGEST_GATHERING = 1.0


@dataclass(frozen=True)
class OpenIndex:
    """The index of a knowledge base, and the key that tells it from an earlier one of the same id."""

    uid: UUID
    index: LexicalIndex


class IndexFollower:
    """Opens, updates and drops indexes; one change of one index at a time."""

    def __init__(  # noqa: PLR0913, PLR0917 - one part each
        self,
        kbs: KbStore,
        versions: VersionStore,
        worker: Worker,
        folder: Path,
        header_boost: float,
        pool: str = DEFAULT_POOL,
    ) -> None:
        self._kbs = kbs
        self._versions = versions
        self._worker = worker
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self._header_boost = header_boost
        self._pool = pool
        self._opened: dict[str, OpenIndex] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # When the next change of an index may begin: under load, as long after the last one as that took.
        self._rested: defaultdict[str, float] = defaultdict(float)

    def get(self, kb_id: str) -> OpenIndex | None:
        """The index of a knowledge base, as far as it has followed."""
        return self._opened.get(kb_id)

    async def follow(self, kb_id: str) -> OpenIndex | None:
        """Bring an index to what Postgres says now; None, and no index any more, when the knowledge base is gone
        or another pool serves it.

        Raises TransientError; what was taken over until then stays.
        """
        if kb_id not in self._opened and await self._kbs.find(kb_id) is None:
            return None
        async with self._turns[kb_id]:
            stored = await self._kbs.find(kb_id)
            if stored is None or stored.kb.pool != self._pool:
                self._opened.pop(kb_id, None)
                return None
            opened = await self._open(stored)
            if opened.index.revision < stored.kb.revision:
                await asyncio.sleep(self._rested[kb_id] - time.monotonic())
                await self._catch_up(opened, stored)
            return opened

    async def _catch_up(self, opened: OpenIndex, stored: StoredKb) -> None:
        index, wanted, started = opened.index, stored.kb.revision, time.monotonic()
        # What came meanwhile is left to be gathered with more.
        while index.revision < wanted and (changes := await self._versions.changes(opened.uid, index.revision)):
            documents = await self._tokenised(changes)
            await asyncio.to_thread(index.apply, documents, changes[-1].revision)
        if index.revision < wanted:
            # What changed since was no document's text.
            await asyncio.to_thread(index.note, wanted)
        ended = time.monotonic()
        self._rested[stored.kb.kb_id] = ended + min(ended - started, _LONGEST_GATHERING)

    def behind(self, kbs: Sequence[StoredKb]) -> list[str]:
        """The ids of indexes that are not what Postgres says, those without a knowledge base included."""
        gone = self._opened.keys() - {stored.kb.kb_id for stored in kbs}
        return [*gone, *(stored.kb.kb_id for stored in kbs if self._is_behind(stored))]

    async def prune(self) -> None:
        """Delete what indexes of knowledge bases that are gone left on the disk."""
        # Listed before Postgres is read: the folder of one that was made in between must not look left over.
        found = [entry for entry in self._folder.iterdir() if entry.is_dir()]
        kept = {self._path(stored) for stored in await self._kbs.all() if stored.kb.pool == self._pool}
        for folder in set(found) - kept:
            await asyncio.to_thread(delete_index, folder)

    def _is_behind(self, stored: StoredKb) -> bool:
        opened = self._opened.get(stored.kb.kb_id)
        return opened is None or opened.uid != stored.uid or opened.index.revision < stored.kb.revision

    async def _open(self, stored: StoredKb) -> OpenIndex:
        opened = self._opened.get(stored.kb.kb_id)
        if opened is None or opened.uid != stored.uid:
            index = await asyncio.to_thread(self._load, stored)
            opened = self._opened[stored.kb.kb_id] = OpenIndex(stored.uid, index)
        return opened

    def _load(self, stored: StoredKb) -> LexicalIndex:
        index = LexicalIndex(self._path(stored), self._header_boost)
        if index.revision > stored.kb.revision:  # Postgres was restored from an older backup
            index.clear()
        return index

    def _path(self, stored: StoredKb) -> Path:
        return self._folder / f"{stored.kb.kb_id}-{stored.uid.hex}"

    async def _tokenised(self, changes: Sequence[ChangedDocument]) -> list[IndexedDocument]:
        chunks = [chunk for change in changes for chunk in change.chunks]
        # The chunks of a section share their header.
        headers = list({chunk.header: None for chunk in chunks})
        terms = await self._worker.tokenise([*headers, *(chunk.text for chunk in chunks)])
        of_header, of_texts = dict(zip(headers, terms, strict=False)), iter(terms[len(headers) :])
        return [
            IndexedDocument(
                change.doc_id,
                tuple(_indexed(chunk.chunk_id, of_header[chunk.header], next(of_texts)) for chunk in change.chunks),
            )
            for change in changes
        ]


def _indexed(chunk_id: int, header: str, text: str) -> IndexedChunk:
    # A word of the header counts in the chunk's own frequencies as well: better on all measured sets than apart.
    return IndexedChunk(chunk_id, f"{header} {text}", header)
