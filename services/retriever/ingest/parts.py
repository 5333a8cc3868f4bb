"""Which parts of a document get a summary of their own, by the headings above its chunks."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from retriever.ingest.document import SEPARATOR

Path = tuple[str, ...]

# Chunks below which a part's summary would say little less than the part.
_LEAST: Final = 2
# Chunks up to which one summary is enough for a part and all that is under it.
_FAIR: Final = 12


@dataclass(frozen=True)
class Part:
    """Neighbouring chunks under one heading: those of the ordinals `[first, end)`."""

    path: Path
    first: int
    end: int

    @property
    def length(self) -> int:
        """How many chunks it has."""
        return self.end - self.first


def parts_of(sections: Sequence[str], most: int) -> tuple[Part, ...]:
    """The `most` longest parts of a document, in text order; `sections` are the headings above each chunk in one line.

    A part has at least two chunks and is not the whole document. One that is longer than a dozen chunks gives way to
    those under it.
    """
    paths = [path_of(section) for section in sections]
    parts = [part for part in _divided(paths, 0, len(paths), 1) if part.path and part.length >= _LEAST]
    return tuple(sorted(heapq.nlargest(most, parts, key=lambda part: part.length), key=lambda part: part.first))


def path_of(section: str) -> Path:
    """The headings that a line of them names, outermost first."""
    return tuple(section.split(SEPARATOR)) if section else ()


def _divided(paths: Sequence[Path], first: int, end: int, depth: int) -> Iterator[Part]:
    """Cut the chunks `[first, end)` where their headings differ, looking at the `depth` outermost ones."""
    for path, ordinals in groupby(range(first, end), key=lambda ordinal: paths[ordinal][:depth]):
        inside = list(ordinals)
        part = Part(path, inside[0], inside[-1] + 1)
        is_whole = part.length == len(paths)
        has_more = any(len(paths[ordinal]) > depth for ordinal in inside)
        if has_more and (is_whole or part.length > _FAIR):
            yield from _divided(paths, part.first, part.end, depth + 1)
        elif not is_whole:
            yield part
