"""Whether a quote is put together of parts that stand in a text one by one. All texts are canonical ones."""

import re
from bisect import bisect_left
from itertools import accumulate

from generator.citations.alike import UNSPACED
from generator.citations.places import find_place

MOST_PARTS = 6

SHORTEST_PART = 24
SHORTEST_CLAUSE = 16
"""Characters of a part, fewer if punctuation sets it off; one of a script without blanks counts for four.

What is shorter stands in every text.
"""

# How many words at its end a part may give up in order to be no cut one.
_MOST_GIVEN_UP = 4
_WORD = re.compile(
    rf"(?P<unspaced>[{UNSPACED}])|[-±≤≥≈~<]?[$€£¥]?(?:(?![{UNSPACED}])[^\W_])+(?:[.,:/'-](?:(?![{UNSPACED}])[^\W_])+)*[%‰]?"
)

# What may stand between two parts, and what sets a part off.
_BETWEEN = re.compile(r"[ .,;:!?'()<>{}#&/、。〈-】-]*")
_PUNCTUATION = re.compile(r"[.,;:!?、。]")

Part = tuple[int, int]


def find_parts(quote: str, text: str) -> tuple[Part, ...]:
    """The parts as (start, end) in the quote, in order; none if some of it stands nowhere.

    From the left, each part is the longest that stands in the text; only what is between words may be left out.
    At most `2 + MOST_PARTS * log2(words)` searches in the text.
    """
    return _Cover(quote, text).parts()


class _Cover:
    def __init__(self, quote: str, text: str) -> None:
        self._quote = quote
        self._text = text
        words = list(_WORD.finditer(quote))
        self._starts = [word.start() for word in words]
        self._ends = [word.end() for word in words]
        edges = zip([0, *self._ends], [*self._starts, len(quote)], strict=True)
        self._gaps = [quote[slice(*edge)] for edge in edges]
        self._gaps[0], self._gaps[-1] = f".{self._gaps[0]}", f"{self._gaps[-1]}."
        # Weight of what is before each word, and of all.
        self._weights = [0, *accumulate(4 if word["unspaced"] else word.end() - word.start() + 1 for word in words)]

    def parts(self) -> tuple[Part, ...]:
        count = len(self._starts)
        tail = self._shortest_from_end()
        if tail is None or not self._stands(tail, count):
            return ()
        tail = self._earliest_to_end(tail)
        bounds = [0]
        while bounds[-1] < tail and len(bounds) < MOST_PARTS:
            end = self._furthest(bounds[-1])
            if end is None:
                return ()
            bounds.append(end)
        return self._close(bounds, tail)

    def _close(self, bounds: list[int], tail: int) -> tuple[Part, ...]:
        """The parts between the bounds, and the last one up to the end."""
        shortest = self._shortest_from_end()
        if bounds[-1] < tail or len(bounds) == 1 or shortest is None:
            return ()
        bounds[-1] = max(tail, min(bounds[-1], shortest))
        ranges = list(zip(bounds, [*bounds[1:], len(self._starts)], strict=True))
        if not all(self._is_part(*words) for words in ranges[-2:]):
            return ()
        return tuple((self._starts[first], self._ends[end - 1]) for first, end in ranges)

    def _furthest(self, first: int) -> int | None:
        """The word up to which the longest part from this one goes; None if none does."""
        low = bisect_left(self._weights, self._weights[first] + SHORTEST_CLAUSE)
        high = len(self._starts)
        if low > high or not self._stands(first, low):
            return None
        shortest = low
        while low < high:
            middle = (low + high + 1) // 2
            if self._stands(first, middle):
                low = middle
            else:
                high = middle - 1
        ends = range(low, max(shortest, low - _MOST_GIVEN_UP) - 1, -1)
        return next((end for end in ends if self._is_part(first, end)), None)

    def _earliest_to_end(self, high: int) -> int:
        """The first word from which on all stands in one piece."""
        low = 0
        while low < high:
            middle = (low + high) // 2
            if self._stands(middle, len(self._starts)):
                high = middle
            else:
                low = middle + 1
        return low

    def _shortest_from_end(self) -> int | None:
        """The last word that is far enough from the end to begin a part."""
        rest = self._weights[-1] - SHORTEST_CLAUSE
        return None if rest < 0 else bisect_left(self._weights, rest + 1) - 1

    def _words(self, first: int, end: int) -> str:
        return self._quote[self._starts[first] : self._ends[end - 1]]

    def _stands(self, first: int, end: int) -> bool:
        return self._words(first, end) in self._text

    def _is_part(self, first: int, end: int) -> bool:
        weight, edges = self._weights[end] - self._weights[first], (self._gaps[first], self._gaps[end])
        is_clause = all(map(_PUNCTUATION.search, edges)) or weight >= SHORTEST_PART
        return (
            weight >= SHORTEST_CLAUSE
            and is_clause
            and all(map(_BETWEEN.fullmatch, edges))
            and find_place(self._words(first, end), self._text) is not None
        )
