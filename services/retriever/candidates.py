"""What a query's legs found, as one ranking of chunks with their places. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from citewire.contracts.evidence import ExplainedHit
from citewire.contracts.retrieval import RetrievalSettings
from citewire.text.scripts import Script, script_of
from retriever.index.fusion import Fused, fuse
from retriever.passages import Hit, LocatedChunk
from retriever.similarity import similarity


@dataclass(frozen=True)
class Candidate:
    """A chunk for one query: what the legs say, where it stands, and how relevant that makes it, in [0, 1]."""

    fused: Fused
    place: LocatedChunk
    similarity: float
    reranked: float | None = None


def dense_share(question: str, searched: Script | None, coverage: float, settings: RetrievalSettings) -> float:
    """The vectors' share of a fused score, for a question to a knowledge base of which a `coverage` is embedded.

    As long as some chunks have no vector, having none must not count against them.
    """
    asked = script_of(question)
    differ = asked is not None and searched is not None and asked != searched
    return coverage * (settings.cross_script_dense_weight if differ else settings.dense_weight)


def rank(lexical: Sequence[Hit], dense: Sequence[Hit], share: float, limit: int) -> list[Fused]:
    """One ranking of the chunks that either leg found; `share` is the vectors' part of the score."""
    return fuse(lexical, dense, share if dense else 0.0, limit)


def place(ranking: Sequence[Fused], places: Mapping[int, LocatedChunk]) -> list[Candidate]:
    """The ranking without what is no longer searched."""
    return [
        Candidate(fused, places[fused.chunk_id], similarity(fused)) for fused in ranking if fused.chunk_id in places
    ]


def rerank(candidates: Sequence[Candidate], scores: Mapping[int, float]) -> list[Candidate]:
    """The candidates that a reranker scored, by its scores; those that it did not see are left out."""
    scored = [
        replace(candidate, reranked=score, similarity=score)
        for candidate in candidates
        if (score := scores.get(candidate.place.chunk_id)) is not None
    ]
    return sorted(scored, key=lambda candidate: -candidate.similarity)


def explain(rankings: Sequence[Sequence[Candidate]]) -> tuple[ExplainedHit, ...]:
    """How each candidate came to its place, query by query."""
    return tuple(_explain(query, candidate) for query, ranking in enumerate(rankings) for candidate in ranking)


def _explain(query: int, candidate: Candidate) -> ExplainedHit:
    fused, place = candidate.fused, candidate.place
    return ExplainedHit(
        query=query,
        doc_id=place.doc_id,
        file_name=place.file_name,
        title=place.title,
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
