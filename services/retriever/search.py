"""One knowledge base searched with all queries of a question."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from citewire.contracts.evidence import Exclusion, Leg, SearchQuery, Segment
from retriever.index.follower import IndexFollower
from retriever.index.lexical import LexicalIndex
from retriever.index.terms import query_weights
from retriever.passages import Hit, Limits, merge_rankings, select_segments
from retriever.register import Register
from retriever.store.versions import VersionStore

UNKNOWN = "unknown knowledge base"
# Hits beyond those asked for, because some may be out of date or overlap.
SPARE = 8


@dataclass(frozen=True)
class Found:
    """Segments, best first, what was left out, and how the search went; `error` when it could not be done."""

    segments: tuple[Segment, ...]
    excluded: tuple[Exclusion, ...]
    legs: tuple[Leg, ...]
    error: str | None = None


def failed(kb_id: str, reason: str) -> Found:
    """A search that could not be done."""
    return Found((), (), (Leg(kb_id=kb_id, leg="lexical", error=reason), _dense_leg(kb_id)), reason)


class Searcher:
    """Searches with the indexes and reads with the store."""

    def __init__(
        self, register: Register, indexes: IndexFollower, versions: VersionStore, segment_characters: int
    ) -> None:
        self._register = register
        self._indexes = indexes
        self._versions = versions
        self._segment_characters = segment_characters

    async def search(self, kb_id: str, queries: Sequence[SearchQuery], top_k: int) -> Found:
        """The best `top_k` segments of a knowledge base; raises TransientError."""
        started = time.perf_counter()
        index = await self._index(kb_id)
        if index is None:
            return failed(kb_id, UNKNOWN)
        candidates = await self._candidates(kb_id, _rank(index, queries, top_k))
        segments, excluded = select_segments(candidates, Limits(top_k, self._segment_characters))
        elapsed = (time.perf_counter() - started) * 1000
        lexical = Leg(kb_id=kb_id, leg="lexical", hits=len(candidates), elapsed_ms=round(elapsed, 2))
        return Found(segments, excluded, (lexical, _dense_leg(kb_id)))

    async def _index(self, kb_id: str) -> LexicalIndex | None:
        # The register is current everywhere within milliseconds; Postgres decides where it does not know an id.
        if kb_id in self._register and (index := self._indexes.get(kb_id)) is not None:
            return index
        return await self._indexes.follow(kb_id)

    async def _candidates(self, kb_id: str, hits: Sequence[Hit]) -> list[Segment]:
        """The hits that stand in a document's searched version, whatever the index says."""
        current = await self._versions.read(kb_id, {hit.chunk_id: hit.score for hit in hits})
        return [current[hit.chunk_id] for hit in hits if hit.chunk_id in current]


def _rank(index: LexicalIndex, queries: Sequence[SearchQuery], top_k: int) -> list[Hit]:
    most = top_k + SPARE
    rankings = [index.search(query_weights(query), most) for query in queries]
    return merge_rankings(rankings)[:most]


def _dense_leg(kb_id: str) -> Leg:
    return Leg(kb_id=kb_id, leg="dense", skipped="no embedder is configured")
