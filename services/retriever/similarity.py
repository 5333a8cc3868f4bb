"""How relevant a chunk is, from 0 to 1, by what the legs say of it and of its query. Pure.

The constants are those of a logistic regression on half of the questions of six sets in two languages, with questions
of another set among them; docs/adr/0014 has the figures.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from retriever.passages import Hit

# A query's fused scores are relative to its best; these bring in how good the best is.
_FUSED: Final = 7.4
_EVIDENCE: Final = 3.6
_BOTH: Final = 6.0
_ACROSS: Final = 5.5
_WORDS: Final = 6.5
_WORDS_EVIDENCE: Final = 2.9
_WORDS_ONLY: Final = 3.0
# Among few candidates the best does not stand out by much: the gap counts as this one in so many of them.
_USUAL_GAP: Final = 0.05
_USUAL_COUNT: Final = 10
_LEAST_GAP: Final = 0.01


@dataclass(frozen=True)
class Evidence:
    """What tells a question that a knowledge base can answer from one that it can't.

    `top` is the highest fused score that a chunk of it could have.
    """

    slope: float
    constant: float
    top: float = 1.0

    def similarity(self, fused: float) -> float:
        """The similarity of a chunk: rises with its fused score."""
        return 1 / (1 + math.exp(-(self.slope * fused / self.top + self.constant)))


def evidence_of_words(coverage: float) -> Evidence:
    """Without vectors; `coverage` is the share of the query's terms that the best chunk has."""
    return Evidence(_WORDS, _WORDS_EVIDENCE * _of_coverage(coverage) + _WORDS_ONLY)


def evidence_of_both(coverage: float, nearest: Sequence[Hit]) -> Evidence:
    """With the `nearest` chunks of the dense leg, by how far the best of them stands out."""
    return Evidence(_FUSED, _EVIDENCE * (_of_coverage(coverage) + _of_gap(nearest)) / 2 + _BOTH)


def evidence_of_vectors(share: float, nearest: Sequence[Hit]) -> Evidence:
    """For a question in another script, whose words say nothing; `share` is the vectors' part of the fused score."""
    return Evidence(_FUSED, _EVIDENCE * _of_gap(nearest) + _ACROSS, top=share)


def coverage(weights: Mapping[str, float], terms: Collection[str]) -> float:
    """The share of a query's weighted terms that are among `terms`."""
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in terms) / total if total else 0.0


def _of_coverage(share: float) -> float:
    return math.log(share / 8 + 0.005)


def _of_gap(nearest: Sequence[Hit]) -> float:
    count = len(nearest)
    scores = [hit.score for hit in nearest]
    gap = max(scores) - sum(scores) / count
    return math.log(max(_LEAST_GAP, (count * gap + _USUAL_COUNT * _USUAL_GAP) / (count + _USUAL_COUNT)))
