"""The best run of chunks for one query, among those that are still free. Pure.

All values are whole numbers: sums of them are exact in any order, so that equal runs are equal.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple


class Candidate(NamedTuple):
    """A run `[first, end)` of a document, before others when it is better; the best of the hits `[low, high)`."""

    loss: int
    document: int
    first: int
    end: int
    low: int
    high: int


class TakenRuns:
    """The runs that were picked, per document; none overlaps another."""

    def __init__(self, documents: int) -> None:
        self._runs: list[list[tuple[int, int]]] = [[] for _ in range(documents)]

    def add(self, document: int, first: int, end: int) -> None:
        """Take a run out of the contest."""
        insort(self._runs[document], (first, end))

    def overlapping(self, document: int, first: int, end: int) -> tuple[int, int] | None:
        """The first taken run that has chunks in `[first, end)`."""
        runs = self._runs[document]
        place = bisect_right(runs, first, key=lambda run: run[1])
        return runs[place] if place < len(runs) and runs[place][0] < end else None


class QueryRuns:
    """The contest of one query: the best run of each stretch of hits that no picked run cuts.

    What is best stays best while others are taken and the permitted length shrinks, unless it is itself concerned:
    only then its stretch is looked at again. `values` has the hits of each document by ordinal, any other chunk is
    worth `-penalty`, which must be less than 0.
    """

    def __init__(self, values: Sequence[Mapping[int, int]], penalty: int, longest: int) -> None:
        self._hits = [_Hits(hits, penalty) for hits in values]
        self._bests: list[Candidate] = []
        for document, hits in enumerate(values):
            self._enter(document, 0, len(hits), longest)

    def best(self, longest: int, taken: TakenRuns) -> Candidate | None:
        """The free run of highest value; of equals the one in the first document, at the first start, the shortest."""
        while self._bests:
            best = self._bests[0]
            cut = taken.overlapping(best.document, best.first, best.end)
            if cut is None and best.end - best.first <= longest:
                return best
            heappop(self._bests)
            if cut is None:
                self._enter(best.document, best.low, best.high, longest)
            else:
                ordinals = self._hits[best.document].ordinals
                self._enter(best.document, best.low, bisect_left(ordinals, cut[0]), longest)
                self._enter(best.document, bisect_left(ordinals, cut[1]), best.high, longest)
        return None

    def _enter(self, document: int, low: int, high: int, longest: int) -> None:
        if found := self._hits[document].best(low, high, longest):
            value, first, end = found
            heappush(self._bests, Candidate(-value, document, first, end, low, high))


class _Hits:
    """The hits of one query in one document, with the sums of all values before and after each of them."""

    def __init__(self, values: Mapping[int, int], penalty: int) -> None:
        self.ordinals = sorted(values)
        self._values = [values[ordinal] for ordinal in self.ordinals]
        self._before: list[int] = [0] * len(self.ordinals)
        for place, (left, right) in enumerate(pairwise(self.ordinals)):
            gap = (right - left - 1) * penalty
            self._before[place + 1] = self._before[place] + self._values[place] - gap

    def best(self, low: int, high: int, longest: int) -> tuple[int, int, int] | None:
        """The best run between two hits of `[low, high)`, both worth at least 0: value, first chunk, end.

        `starts` are the places that a run may begin at, with rising sums before them: the first is the best one that
        is near enough (the monotonic queue of a sliding window's minimum).
        """
        best: tuple[int, int, int] | None = None
        starts: deque[int] = deque()
        for place in range(low, high):
            if self._values[place] < 0:
                continue
            while starts and self._before[starts[-1]] > self._before[place]:
                starts.pop()
            starts.append(place)
            end = self.ordinals[place] + 1
            while end - self.ordinals[starts[0]] > longest:
                starts.popleft()
            value = self._before[place] + self._values[place] - self._before[starts[0]]
            # Later ends have later starts: of equals the one found first is to be kept.
            if best is None or value > best[0]:
                best = (value, self.ordinals[starts[0]], end)
        return best
