"""How good rankings of documents are. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence


def documents_of(chunks: Iterable[str]) -> list[str]:
    """The documents of ranked chunks, each where its best chunk stands."""
    return list(dict.fromkeys(chunks))


def ndcg(ranking: Sequence[str], gains: Mapping[str, int], depth: int) -> float:
    """Normalised discounted cumulative gain of the first `depth` documents, in [0, 1].

    Linear gains, discounted by log2(rank + 1) as trec_eval does (Järvelin and Kekäläinen, 2002); `gains` has one
    above zero.
    """
    ideal = sorted(gains.values(), reverse=True)
    return _discounted([gains.get(document, 0) for document in ranking[:depth]]) / _discounted(ideal[:depth])


def recall(ranking: Sequence[str], gains: Mapping[str, int], depth: int) -> float:
    """The share of the relevant documents that stand among the first `depth`."""
    return len(gains.keys() & set(ranking[:depth])) / len(gains)


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that at least `share` of all values do not exceed; 0 without values."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else 0.0


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
