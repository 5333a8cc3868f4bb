"""One ranking from two: lexical and dense scores, normalised and added with weights. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from retriever.passages import Hit

# How the lexical leg's part of the sum grows with how far its best hit stands out: as it is set where that is 0.63.
# Chosen on seven sets in two languages; docs/adr/0020 has the figures.
_PROMINENCE_FACTOR: Final = 2.0
_PROMINENCE_POWER: Final = 1.5


class Fused(NamedTuple):
    """A chunk, its score in [0, 1], and what each leg said of it: rank from 0 and score, None where it did not."""

    chunk_id: int
    score: float
    lexical_rank: int | None
    lexical_score: float | None
    dense_rank: int | None
    dense_score: float | None


def adapted_dense_weight(dense_weight: float, lexical: Sequence[Hit], dense: Sequence[Hit]) -> float:
    """The dense leg's share in [0, 1] for one query: below `dense_weight` if its words single out a chunk, else above.

    How far the best lexical score stands above the mean of as many chunks as the legs found tells how well the words
    fit the query (query performance prediction: Shtok et al. 2012). 0 and 1 stay what they are.
    """
    lexical_weight = (1 - dense_weight) * _PROMINENCE_FACTOR * _prominence(lexical, len(dense)) ** _PROMINENCE_POWER
    return dense_weight / (dense_weight + lexical_weight) if dense_weight else 0.0


def _prominence(hits: Sequence[Hit], at_least: int) -> float:
    """1 less the mean score as a share of the best one, over so many chunks at least: those not found have 0."""
    if not hits:
        return 0.0
    return 1 - sum(hit.score for hit in hits) / max(len(hits), at_least) / max(hit.score for hit in hits)


def fuse(lexical: Sequence[Hit], dense: Sequence[Hit], dense_weight: float, limit: int) -> list[Fused]:
    """The chunks that either leg found, best first: the convex sum of their min-max normalised scores.

    Legs are ranked best first, name a chunk once, and were asked for `limit` hits. A chunk that a leg did not find
    has 0 from it. `dense_weight` is the dense leg's share in [0, 1]; a leg that was not asked should have none.
    Equal scores stand in the order of chunk ids. For the sum see Bruch, Gai and Ingber, 2023.
    """
    # When the lexical leg found less than it was asked for, all other chunks have 0, which then is the least score.
    lexical_parts = _normalised(lexical, 0.0 if len(lexical) < limit else None)
    dense_parts = _normalised(dense)
    lexical_places = {hit.chunk_id: (rank, hit.score) for rank, hit in enumerate(lexical)}
    dense_places = {hit.chunk_id: (rank, hit.score) for rank, hit in enumerate(dense)}
    fused = [
        Fused(
            chunk_id,
            (1 - dense_weight) * lexical_parts.get(chunk_id, 0.0) + dense_weight * dense_parts.get(chunk_id, 0.0),
            *lexical_places.get(chunk_id, (None, None)),
            *dense_places.get(chunk_id, (None, None)),
        )
        for chunk_id in lexical_parts.keys() | dense_parts.keys()
    ]
    return sorted(fused, key=lambda found: (-found.score, found.chunk_id))


def _normalised(hits: Sequence[Hit], least: float | None = None) -> Mapping[int, float]:
    """Scores from 0 for the least to 1 for the best; all 1 when they are equal, since each of them is the best."""
    if not hits:
        return {}
    best = max(hit.score for hit in hits)
    least = min(hit.score for hit in hits) if least is None else least
    if best <= least:
        return {hit.chunk_id: 1.0 for hit in hits}
    return {hit.chunk_id: (hit.score - least) / (best - least) for hit in hits}
