"""The lexical indexes of this process: each follows Postgres by its knowledge base's revision."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from retriever.index.lexical import IndexedChunk, IndexedDocument, LexicalIndex, delete_index
from retriever.store.kbs import KbStore, StoredKb
from retriever.store.versions import ChangedDocument, VersionStore
from retriever.worker import Worker


@dataclass(frozen=True)
class _Opened:
    uid: UUID
    index: LexicalIndex


class IndexFollower:
    """Opens, updates and drops indexes; one change of one index at a time."""

    def __init__(self, kbs: KbStore, versions: VersionStore, worker: Worker, folder: Path, header_boost: float) -> None:
        self._kbs = kbs
        self._versions = versions
        self._worker = worker
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self._header_boost = header_boost
        self._opened: dict[str, _Opened] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def get(self, kb_id: str) -> LexicalIndex | None:
        """The index of a knowledge base, as far as it has followed."""
        opened = self._opened.get(kb_id)
        return None if opened is None else opened.index

    async def follow(self, kb_id: str) -> LexicalIndex | None:
        """Bring an index to what Postgres says now; None, and no index any more, when the knowledge base is gone.

        Raises TransientError; what was taken over until then stays.
        """
        if kb_id not in self._opened and await self._kbs.find(kb_id) is None:
            return None
        async with self._turns[kb_id]:
            stored = await self._kbs.find(kb_id)
            if stored is None:
                self._opened.pop(kb_id, None)
                return None
            index = await self._open(stored)
            while changes := await self._versions.changes(stored.uid, index.revision):
                documents = await self._tokenised(changes)
                await asyncio.to_thread(index.apply, documents, changes[-1].revision)
            return index

    def behind(self, kbs: Sequence[StoredKb]) -> list[str]:
        """The ids of indexes that are not what Postgres says, those without a knowledge base included."""
        gone = self._opened.keys() - {stored.kb.kb_id for stored in kbs}
        return [*gone, *(stored.kb.kb_id for stored in kbs if self._is_behind(stored))]

    async def prune(self) -> None:
        """Delete what indexes of knowledge bases that are gone left on the disk."""
        # Listed before Postgres is read: the folder of one that was made in between must not look left over.
        found = [entry for entry in self._folder.iterdir() if entry.is_dir()]
        kept = {self._path(stored) for stored in await self._kbs.all()}
        for folder in set(found) - kept:
            await asyncio.to_thread(delete_index, folder)

    def _is_behind(self, stored: StoredKb) -> bool:
        opened = self._opened.get(stored.kb.kb_id)
        return opened is None or opened.uid != stored.uid or opened.index.revision < stored.kb.revision

    async def _open(self, stored: StoredKb) -> LexicalIndex:
        opened = self._opened.get(stored.kb.kb_id)
        if opened is None or opened.uid != stored.uid:
            index = await asyncio.to_thread(self._load, stored)
            opened = self._opened[stored.kb.kb_id] = _Opened(stored.uid, index)
        return opened.index

    def _load(self, stored: StoredKb) -> LexicalIndex:
        index = LexicalIndex(self._path(stored), self._header_boost)
        if index.revision > stored.kb.revision:  # Postgres was restored from an older backup
            index.clear()
        return index

    def _path(self, stored: StoredKb) -> Path:
        return self._folder / f"{stored.kb.kb_id}-{stored.uid.hex}"

    async def _tokenised(self, changes: Sequence[ChangedDocument]) -> list[IndexedDocument]:
        texts = [text for change in changes for chunk in change.chunks for text in (chunk.text, chunk.header)]
        terms = iter(await self._worker.tokenise(texts))
        return [
            IndexedDocument(
                change.doc_id, tuple(IndexedChunk(chunk.chunk_id, next(terms), next(terms)) for chunk in change.chunks)
            )
            for change in changes
        ]
