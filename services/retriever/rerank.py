"""The reranking step: a model reads the best candidates of the one knowledge base that is searched."""

import time
from collections.abc import Sequence

from citewire.contracts.evidence import Leg, SearchQuery
from citewire.contracts.knowledge import KnowledgeBase
from citewire.runtime.errors import TransientError
from retriever.candidates import Candidate, rerank
from retriever.reranking.reranker import Reranker, RerankerUnavailable
from retriever.reranking.rerankers import Rerankers
from retriever.store.passages import PassageStore

# Candidates of each query that a reranker reads.
_MOST = 50

Rankings = list[list[Candidate]]


class RerankLeg:
    """Reranks if the knowledge base has a reranker; where that fails, the ranking stays and the leg says why."""

    def __init__(self, rerankers: Rerankers, passages: PassageStore) -> None:
        self._rerankers = rerankers
        self._passages = passages

    async def apply(
        self, kb: KnowledgeBase, queries: Sequence[SearchQuery], rankings: Rankings, *, is_alone: bool
    ) -> tuple[Rankings, tuple[Leg, ...]]:
        """The rankings, and the leg that tells of it; no leg without a reranker. Raises TransientError for Postgres."""
        if not kb.reranker:
            return rankings, ()
        leg = Leg(kb_id=kb.kb_id, leg="rerank")
        if not is_alone:
            # Scores of different models can't be compared.
            return rankings, (leg.model_copy(update={"skipped": "several knowledge bases are searched"}),)
        started = time.perf_counter()
        texts = await self._passages.texts({found.place.chunk_id for ranking in rankings for found in ranking[:_MOST]})
        try:
            reranker = self._rerankers.get(kb.reranker)
            reranked = [
                await _rerank(reranker, query, ranking[:_MOST], texts)
                for query, ranking in zip(queries, rankings, strict=True)
            ]
        except RerankerUnavailable as unavailable:
            return rankings, (leg.model_copy(update={"skipped": str(unavailable)}),)
        except TransientError as error:
            return rankings, (leg.model_copy(update={"error": str(error)}),)
        elapsed = round((time.perf_counter() - started) * 1000, 2)
        return reranked, (leg.model_copy(update={"hits": sum(map(len, reranked)), "elapsed_ms": elapsed}),)


async def _rerank(
    reranker: Reranker, query: SearchQuery, ranking: Sequence[Candidate], texts: dict[int, str]
) -> list[Candidate]:
    known = [found for found in ranking if found.place.chunk_id in texts]
    if not known:
        return []
    scores = await reranker.scores(query.query, [texts[found.place.chunk_id] for found in known])
    return rerank(known, {found.place.chunk_id: score for found, score in zip(known, scores, strict=True)})
