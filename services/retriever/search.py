"""One knowledge base searched with all queries of a question."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from citewire.contracts.evidence import Exclusion, ExplainedHit, Leg, SearchQuery, Segment
from citewire.contracts.filters import Filter, FilterProblem, check_filter
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.retrieval import RetrievalMode, resolve_rse_params
from citewire.runtime.errors import invalid
from citewire.text.tokenizer import tokenize
from retriever.candidates import Candidate, Dense, FoundHits, explain, place, put_together
from retriever.dense import DenseLeg, DenseResult
from retriever.index.follower import IndexFollower, OpenIndex
from retriever.index.lexical import LexicalIndex
from retriever.index.terms import query_weights
from retriever.legs import LATE, dense_leg, late_rerank_leg, lexical_leg
from retriever.passages import Hit, Limits, LocatedChunk, select_segments
from retriever.register import Register
from retriever.rerank import Rankings, RerankLeg
from retriever.runs import choose_runs
from retriever.similarity import coverage
from retriever.store.passages import PassageStore
from retriever.times import Times

UNKNOWN = "unknown knowledge base"
# Chunks that each leg gives for each query.
CANDIDATES = 100

Terms = Mapping[str, float]
"""The weights of a query's terms."""

_NOBODY = User(user_id="")


@dataclass(frozen=True)
class Asked:
    """What to search for, by whom, and how; after the deadline nobody waits for it."""

    queries: tuple[SearchQuery, ...]
    top_k: int
    deadline: datetime | None = None
    user: User | None = None
    filter: Filter | None = None
    mode: RetrievalMode | None = None
    rse_params: str | dict[str, Any] | None = None
    is_alone: bool = True
    explain: bool = False


@dataclass(frozen=True)
class Found:
    """Segments, best first, what was left out, and how the search went; `error` when it could not be done."""

    segments: tuple[Segment, ...]
    excluded: tuple[Exclusion, ...]
    legs: tuple[Leg, ...]
    error: str | None = None
    explained: tuple[ExplainedHit, ...] = ()


def failed(kb_id: str, reason: str) -> Found:
    """A search that could not be done."""
    return Found((), (), tuple(Leg(kb_id=kb_id, leg=leg, error=reason) for leg in ("lexical", "dense")), reason)


class Searcher:
    """Searches with both legs and reads with the store."""

    def __init__(  # noqa: PLR0913, PLR0917 - one part each
        self,
        register: Register,
        indexes: IndexFollower,
        dense: DenseLeg,
        reranking: RerankLeg,
        passages: PassageStore,
        segment_characters: int,
    ) -> None:
        self._register = register
        self._indexes = indexes
        self._dense = dense
        self._reranking = reranking
        self._passages = passages
        self._segment_characters = segment_characters

    async def search(self, kb_id: str, asked: Asked) -> Found:
        """The best segments of a knowledge base, as if there were none for who may not read it.

        Raises Refusal 422 for a filter that does not fit, TransientError.
        """
        kb = await self._register.find(kb_id)
        opened = await self._open(kb_id)
        if kb is None or opened is None or not kb.is_readable_by(asked.user or _NOBODY):
            return failed(kb_id, UNKNOWN)
        times = Times.until(asked.deadline)
        documents = await self._matching(kb, opened.uid, asked.filter)
        terms = [query_weights(query) for query in asked.queries]
        (lexical, lexical_ms), (dense, dense_ms) = await asyncio.gather(
            self._search_words(opened.index, terms, documents),
            self._search_vectors(kb, opened.uid, asked.queries, documents, times.dense),
        )
        found = _put_together(kb, asked.queries, lexical, dense)
        rankings = await self._rank(opened.uid, terms, found)
        rankings, reranked = await self._rerank(kb, asked, rankings, times.rerank)
        segments, excluded = await self._read(kb, opened.uid, asked, rankings)
        legs = (
            lexical_leg(kb, len(opened.index), sum(map(len, lexical)), lexical_ms),
            dense_leg(kb_id, dense, dense_ms),
            *reranked,
        )
        explained = await self._explain(rankings) if asked.explain else ()
        return Found(segments, excluded, legs, explained=explained)

    async def _open(self, kb_id: str) -> OpenIndex | None:
        # The register is current everywhere within milliseconds; Postgres decides where it does not know an id.
        if kb_id in self._register and (opened := self._indexes.get(kb_id)) is not None:
            return opened
        return await self._indexes.follow(kb_id)

    async def _matching(self, kb: KnowledgeBase, uid: UUID, part: Filter | None) -> list[UUID] | None:
        if part is None:
            return None
        try:
            check_filter(part, kb.metadata_schema)
        except FilterProblem as problem:
            raise invalid(problem.field, problem.message) from problem
        return await self._passages.matching(uid, part, kb.metadata_schema)

    async def _search_words(
        self, index: LexicalIndex, queries: Sequence[Terms], documents: Sequence[UUID] | None
    ) -> tuple[list[list[Hit]], float]:
        started = time.perf_counter()
        # One by one, so that a search that is given up leaves no thread at work on its other queries.
        rankings = [await asyncio.to_thread(index.search, terms, CANDIDATES, documents) for terms in queries]
        return rankings, _milliseconds_since(started)

    async def _search_vectors(
        self,
        kb: KnowledgeBase,
        uid: UUID,
        queries: Sequence[SearchQuery],
        documents: Sequence[UUID] | None,
        until: float | None,
    ) -> tuple[DenseResult, float]:
        started = time.perf_counter()
        texts = [_with_context(query) for query in queries]
        try:
            async with asyncio.timeout_at(until):
                found = await self._dense.search(uid, kb.embedder, texts, CANDIDATES, documents)
        except TimeoutError:
            found = DenseResult(((),) * len(queries), 0, kb.chunks, None, error=LATE)
        return found, _milliseconds_since(started)

    async def _rerank(
        self, kb: KnowledgeBase, asked: Asked, rankings: Rankings, until: float | None
    ) -> tuple[Rankings, tuple[Leg, ...]]:
        try:
            async with asyncio.timeout_at(until):
                return await self._reranking.apply(kb, asked.queries, rankings, is_alone=asked.is_alone)
        except TimeoutError:
            return rankings, (late_rerank_leg(kb.kb_id),)

    async def _rank(self, uid: UUID, terms: Sequence[Terms], found: Sequence[FoundHits]) -> list[list[Candidate]]:
        """Each query's candidates that stand in a document's searched version, whatever the indexes say."""
        rankings = [each.ranking(CANDIDATES) for each in found]
        likely = {each.words[0].chunk_id for each in found if each.words}
        places = await self._passages.locate(uid, {one.chunk_id for each in rankings for one in each}, likely)
        best = [next((hit.chunk_id for hit in each.words if hit.chunk_id in places), None) for each in found]
        texts = await self._texts(places, {chunk_id for chunk_id in best if chunk_id is not None})
        return [
            place(ranking, places, each.evidence(coverage(asked, set(tokenize(texts.get(chunk_id or 0, ""))))))
            for ranking, each, asked, chunk_id in zip(rankings, found, terms, best, strict=True)
        ]

    async def _texts(self, places: Mapping[int, LocatedChunk], chunk_ids: set[int]) -> dict[int, str]:
        """What a model reads of these chunks, most of which were read as they were located."""
        known = {chunk_id: text for chunk_id in chunk_ids if (text := places[chunk_id].passage) is not None}
        missing = chunk_ids - known.keys()
        return known | await self._passages.texts(missing) if missing else known

    async def _explain(self, rankings: Rankings) -> tuple[ExplainedHit, ...]:
        doc_ids = {candidate.place.doc_id for ranking in rankings for candidate in ranking}
        return explain(rankings, await self._passages.names(doc_ids))

    async def _read(
        self, kb: KnowledgeBase, uid: UUID, asked: Asked, rankings: Sequence[Sequence[Candidate]]
    ) -> tuple[tuple[Segment, ...], tuple[Exclusion, ...]]:
        params = resolve_rse_params(kb.retrieval.rse_params, asked.rse_params or {})
        runs = choose_runs(rankings, asked.mode or kb.retrieval.mode, params)
        candidates = await self._passages.read(uid, kb.kb_id, runs)
        return select_segments(candidates, Limits(asked.top_k, self._segment_characters))


def _put_together(
    kb: KnowledgeBase, queries: Sequence[SearchQuery], lexical: Sequence[Sequence[Hit]], dense: DenseResult
) -> list[FoundHits]:
    known = min(1.0, dense.ready / dense.total) if dense.total else 0.0
    return [
        put_together(query.query, words, Dense(nearest, known, dense.script), kb.retrieval)
        for query, words, nearest in zip(queries, lexical, dense.rankings, strict=True)
    ]


def _with_context(query: SearchQuery) -> str:
    """What is embedded of a query: with the question before it, if it refers to that."""
    return f"{query.context[-1]}\n{query.query}" if query.context else query.query


def _milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
