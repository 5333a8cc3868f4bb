"""What a query's legs found, as one ranking of chunks with their places. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from citewire.contracts.evidence import ExplainedHit
from citewire.contracts.retrieval import RetrievalSettings
from citewire.text.scripts import Script, script_of
from retriever.index.fusion import Fused, adapted_dense_weight, fuse
from retriever.passages import Hit, LocatedChunk, Names
from retriever.similarity import Evidence, evidence_of_both, evidence_of_vectors, evidence_of_words


class Candidate(NamedTuple):
    """A chunk for one query: what the legs say, where it stands, and how relevant that makes it, in [0, 1]."""

    fused: Fused
    place: LocatedChunk
    similarity: float
    reranked: float | None = None


@dataclass(frozen=True)
class FoundHits:
    """What the legs found for one query, each best first, and how to put it together.

    `share` is the vectors' part of a fused score; `crosses` says that the question is in another script than the
    knowledge base.
    """

    words: Sequence[Hit]
    nearest: Sequence[Hit]
    share: float
    crosses: bool

    def ranking(self, limit: int) -> list[Fused]:
        """One ranking of the chunks that either leg found."""
        return fuse(self.words, self.nearest, self.share if self.nearest else 0.0, limit)

    def evidence(self, coverage: float) -> Evidence:
        """How good the best is, given the share of the query's terms that the best chunk by words has."""
        if not self.nearest or not self.share:
            return evidence_of_words(coverage)
        if self.crosses:
            return evidence_of_vectors(self.share, self.nearest)
        return evidence_of_both(coverage, self.nearest)


def put_together(question: str, words: Sequence[Hit], dense: "Dense", settings: RetrievalSettings) -> FoundHits:
    """The legs of one query.

    The words of a question in another script tell nothing, not even by how they are spread. As long as some chunks
    have no vector, the vectors weigh less, so that having none does not count against a chunk.
    """
    asked = script_of(question)
    crosses = asked is not None and dense.script is not None and asked != dense.script
    if crosses:
        weight = settings.cross_script_dense_weight
    else:
        weight = adapted_dense_weight(settings.dense_weight, words, dense.nearest)
    return FoundHits(words, dense.nearest, dense.coverage * weight, crosses)


@dataclass(frozen=True)
class Dense:
    """What the dense leg found for one query, the part of the knowledge base that it knows, and its main script."""

    nearest: Sequence[Hit]
    coverage: float
    script: Script | None


def place(ranking: Sequence[Fused], places: Mapping[int, LocatedChunk], evidence: Evidence) -> list[Candidate]:
    """The ranking without what is no longer searched."""
    return [
        Candidate(fused, places[fused.chunk_id], evidence.similarity(fused.score))
        for fused in ranking
        if fused.chunk_id in places
    ]


def rerank(candidates: Sequence[Candidate], scores: Mapping[int, float]) -> list[Candidate]:
    """The candidates that a reranker scored, by its scores; those that it did not see are left out."""
    scored = [
        candidate._replace(reranked=score, similarity=score)
        for candidate in candidates
        if (score := scores.get(candidate.place.chunk_id)) is not None
    ]
    return sorted(scored, key=lambda candidate: -candidate.similarity)


def explain(rankings: Sequence[Sequence[Candidate]], names: Mapping[UUID, Names]) -> tuple[ExplainedHit, ...]:
    """How each candidate came to its place, query by query; those of documents without a name are gone."""
    return tuple(
        _explain(query, candidate, names[candidate.place.doc_id])
        for query, ranking in enumerate(rankings)
        for candidate in ranking
        if candidate.place.doc_id in names
    )


def _explain(query: int, candidate: Candidate, names: Names) -> ExplainedHit:
    fused, place = candidate.fused, candidate.place
    return ExplainedHit(
        query=query,
        doc_id=place.doc_id,
        file_name=names.file_name,
        title=names.title,
        ordinal=place.ordinal,
        start=place.start,
        end=place.end,
        lexical_rank=_from_one(fused.lexical_rank),
        lexical_score=fused.lexical_score,
        dense_rank=_from_one(fused.dense_rank),
        dense_score=fused.dense_score,
        fused=fused.score,
        reranked=candidate.reranked,
        similarity=candidate.similarity,
    )


def _from_one(rank: int | None) -> int | None:
    return None if rank is None else rank + 1
