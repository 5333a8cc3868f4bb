"""Which runs of chunks are given as evidence, by the knowledge base's mode. Pure."""

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from uuid import UUID

from citewire.contracts.retrieval import RetrievalMode, RseParams
from retriever.candidates import Candidate
from retriever.parents import ParentHit, rank_parents
from retriever.passages import ScoredRun
from retriever.rse.extraction import ChunkHit, extract_runs, merge_touching


def choose_runs(rankings: Sequence[Sequence[Candidate]], mode: RetrievalMode, params: RseParams) -> list[ScoredRun]:
    """The runs for several queries' rankings, best first; their versions are those that the candidates stand in."""
    versions = {found.place.doc_id: found.place.version for found in chain.from_iterable(rankings)}
    if mode is RetrievalMode.RSE:
        return _segments(rankings, params, versions)
    relevant = list(_in_turns(rankings, params.irrelevant_chunk_penalty))
    hits = [_parent(found) for found in relevant] if mode is RetrievalMode.PARENT_CHILD else map(_chunk, relevant)
    return [ScoredRun(hit.doc_id, versions[hit.doc_id], hit.first, hit.last, hit.score) for hit in rank_parents(hits)]


def _segments(rankings: Sequence[Sequence[Candidate]], params: RseParams, versions: dict[UUID, int]) -> list[ScoredRun]:
    hits = [[_hit(found) for found in ranking] for ranking in rankings]
    return [
        ScoredRun(run.doc_id, versions[run.doc_id], run.first, run.end - 1, run.score)
        for run in merge_touching(extract_runs(hits, params))
    ]


def _in_turns(rankings: Sequence[Sequence[Candidate]], least: float) -> Iterable[Candidate]:
    """Each query's best before any query's second best, as long as they are relevant at all."""
    for found in chain.from_iterable(zip_longest(*rankings)):
        if found is not None and found.similarity > least:
            yield found


def _hit(found: Candidate) -> ChunkHit:
    place = found.place
    return ChunkHit(place.doc_id, place.ordinal, place.end - place.start, found.similarity)


def _chunk(found: Candidate) -> ParentHit:
    return ParentHit(found.place.doc_id, found.place.ordinal, found.place.ordinal, found.similarity)


def _parent(found: Candidate) -> ParentHit:
    return ParentHit(found.place.doc_id, found.place.parent_first, found.place.parent_last, found.similarity)
