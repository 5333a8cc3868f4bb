"""Parents: neighbouring chunks that are searched one by one and given as evidence together. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

MAXIMUM: Final = 1200


@dataclass(frozen=True)
class Child:
    """A chunk `[start, end)` of a document's text, the section that it stands in and its page, if it has these."""

    start: int
    end: int
    section: str = ""
    page: int | None = None


@dataclass(frozen=True)
class ParentHit:
    """A parent, as its first and last chunk's ordinals, and its score."""

    doc_id: UUID
    first: int
    last: int
    score: float


def parents_of(children: Sequence[Child], maximum: int = MAXIMUM) -> list[tuple[int, int]]:
    """For each chunk of a document, in text order, the ordinals of its parent's first and last chunk.

    A parent has at most `maximum` characters, unless it is a single chunk that is longer. It crosses no border of a
    section, and none of a page but inside a section. Stretches between two borders give parents of about one size.
    """
    parents: list[tuple[int, int]] = []
    for first, end in _stretches(children):
        for parent in _parts(children, first, end, maximum):
            parents += [parent] * (parent[1] - parent[0] + 1)
    return parents


def rank_parents(hits: Iterable[ParentHit]) -> list[ParentHit]:
    """The parents of ranked hits, each where its first hit stood and with the best score of its hits."""
    best: dict[tuple[UUID, int, int], ParentHit] = {}
    for hit in hits:
        known = best.setdefault((hit.doc_id, hit.first, hit.last), hit)
        best[hit.doc_id, hit.first, hit.last] = replace(known, score=max(known.score, hit.score))
    return list(best.values())


def _stretches(children: Sequence[Child]) -> Iterable[tuple[int, int]]:
    """The parts `[first, end)` between two borders."""
    borders = [place for place in range(1, len(children)) if _is_border(children[place - 1], children[place])]
    return zip([0, *borders], [*borders, len(children)], strict=True)


def _is_border(left: Child, right: Child) -> bool:
    return left.section != right.section or (not left.section and left.page != right.page)


def _parts(children: Sequence[Child], first: int, end: int, maximum: int) -> Iterable[tuple[int, int]]:
    """The parents of a stretch: a parent is complete when it has its share of the text or takes no further chunk."""
    length = children[end - 1].end - children[first].start if first < end else 0
    share = length / max(1, math.ceil(length / maximum))
    for place in range(first, end):
        start = children[first].start
        is_full = children[place].end - start >= share
        if place + 1 == end or is_full or children[place + 1].end - start > maximum:
            yield first, place
            first = place + 1
