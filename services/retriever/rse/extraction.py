"""Runs of chunks that answer several queries best, each query picking in turn. Pure."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from uuid import UUID

from citewire.contracts.retrieval import RSE_PRESETS, RseParams
from retriever.rse.best_run import QueryRuns, TakenRuns

# Values are whole billionths: exact sums, where those of floats depend on their order.
UNIT: Final = 10**9
# Characters from which on a chunk's value grows with its length.
USUAL_LENGTH: Final = 700


class ChunkHit(NamedTuple):
    """A chunk that a query found: its place in its document, its characters without header, its similarity in 0..1."""

    doc_id: UUID
    ordinal: int
    length: int
    similarity: float


@dataclass(frozen=True)
class ChunkRun:
    """The chunks `[first, end)` of a document, and what they are worth to the query that picked them."""

    doc_id: UUID
    first: int
    end: int
    score: float


def extract_runs(rankings: Sequence[Sequence[ChunkHit]], params: RseParams = RSE_PRESETS["balanced"]) -> list[ChunkRun]:
    """The runs that answer the queries best, in the order in which they were picked; none overlaps another.

    `rankings` has each query's hits, best first. A hit is worth its similarity, decayed by its rank, less the penalty;
    any other chunk costs the penalty. The queries take turns; each picks the free run of highest value to itself: of
    equals the one in the document that any query ranks highest (then by id), then the earliest, then the shortest.
    A query that finds none of `minimum_value` gets no more turns. The method is dsRAG's relevant segment extraction.

    A turn takes time in proportion to the query's hits at most. The lengths of documents play no part, since runs
    end at hits.
    """
    documents = _documents(rankings, params.top_k_for_document_selection)
    taken = TakenRuns(len(documents))
    turns = deque(_contest(hits, documents, params) for hits in rankings)
    room = params.overall_max_length + (len(rankings) - 1) * params.overall_max_length_extension
    picked: list[ChunkRun] = []
    while turns and room > 0:
        query = turns.popleft()
        best = query.best(min(params.max_length, room), taken)
        if best is None or -best.loss < _units(params.minimum_value):
            continue
        turns.append(query)
        taken.add(best.document, best.first, best.end)
        picked.append(ChunkRun(documents[best.document], best.first, best.end, -best.loss / UNIT))
        room -= best.end - best.first
    return picked


def merge_touching(runs: Sequence[ChunkRun]) -> list[ChunkRun]:
    """The runs, which must not overlap, with those that touch in one document made one.

    It stands where the first of them stood, with the highest of their scores: values to different queries can't be
    added up.
    """
    groups: list[list[int]] = []
    for place in sorted(range(len(runs)), key=lambda place: (runs[place].doc_id, runs[place].first)):
        if groups and _touch(runs[groups[-1][-1]], runs[place]):
            groups[-1].append(place)
        else:
            groups.append([place])
    return [_join([runs[place] for place in group]) for group in sorted(groups, key=min)]


def _touch(left: ChunkRun, right: ChunkRun) -> bool:
    return left.doc_id == right.doc_id and left.end == right.first


def _join(runs: Sequence[ChunkRun]) -> ChunkRun:
    return replace(runs[0], end=runs[-1].end, score=max(run.score for run in runs))


def _documents(rankings: Sequence[Sequence[ChunkHit]], most: int) -> list[UUID]:
    """The documents of each query's first hits, by their best rank, then by id."""
    best: dict[UUID, int] = {}
    for hits in rankings:
        for rank, hit in enumerate(hits[:most]):
            best[hit.doc_id] = min(rank, best.get(hit.doc_id, rank))
    return sorted(best, key=lambda doc_id: (best[doc_id], doc_id))


def _contest(hits: Sequence[ChunkHit], documents: Sequence[UUID], params: RseParams) -> QueryRuns:
    values: dict[UUID, dict[int, int]] = {doc_id: {} for doc_id in documents}
    for rank, hit in enumerate(hits):
        if hit.doc_id in values:
            # Of two hits of one chunk the later one counts.
            values[hit.doc_id][hit.ordinal] = _units(_value(hit, rank, params))
    return QueryRuns(list(values.values()), _units(params.irrelevant_chunk_penalty), params.max_length)


def _value(hit: ChunkHit, rank: int, params: RseParams) -> float:
    weight = max(hit.length, USUAL_LENGTH) / USUAL_LENGTH if params.chunk_length_adjustment else 1.0
    return (hit.similarity * math.exp(-rank / params.decay_rate) - params.irrelevant_chunk_penalty) * weight


def _units(value: float) -> int:
    return round(value * UNIT)
