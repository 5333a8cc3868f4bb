"""From ranked chunks to segments: overlaps and what exceeds a limit left out. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from citewire.contracts.evidence import Exclusion, ExclusionReason, Segment


class Hit(NamedTuple):
    """A chunk that a search found; scores of different queries can't be compared."""

    chunk_id: int
    score: float


class LocatedChunk(NamedTuple):
    """A chunk's place: its document's searched version, its ordinal and text range, its parent's first and last.

    `passage` is what a model reads of it, header and text, where that was asked for.
    """

    chunk_id: int
    doc_id: UUID
    version: int
    ordinal: int
    start: int
    end: int
    parent_first: int
    parent_last: int
    passage: str | None = None


class Names(NamedTuple):
    """What a document is called."""

    file_name: str
    title: str


@dataclass(frozen=True)
class ScoredRun:
    """The chunks from `first` to `last`, both included, of a document's version."""

    doc_id: UUID
    version: int
    first: int
    last: int
    score: float


@dataclass(frozen=True)
class Limits:
    """How much one knowledge base may give: segments, and characters of them together."""

    segments: int
    characters: int


def select_segments(candidates: Iterable[Segment], limits: Limits) -> tuple[tuple[Segment, ...], tuple[Exclusion, ...]]:
    """The candidates that are taken, in their order, and why each other one is not.

    Nothing is cut: a candidate that does not fit is left out whole, and a later one that fits is taken.
    """
    taken: list[Segment] = []
    excluded: list[Exclusion] = []
    room = limits.characters
    for candidate in candidates:
        reason = _objection(candidate, taken, limits.segments, room)
        if reason is None:
            taken.append(candidate)
            room -= len(candidate.text)
        else:
            excluded.append(_exclusion(candidate, reason))
    return tuple(taken), tuple(excluded)


def _objection(candidate: Segment, taken: Sequence[Segment], most: int, room: int) -> ExclusionReason | None:
    if any(_overlap(candidate, other) for other in taken):
        return ExclusionReason.OVERLAP
    if len(taken) >= most:
        return ExclusionReason.LIMIT
    if len(candidate.text) > room:
        return ExclusionReason.BUDGET
    return None


def _overlap(one: Segment, other: Segment) -> bool:
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end


def _exclusion(segment: Segment, reason: ExclusionReason) -> Exclusion:
    return Exclusion(kb_id=segment.kb_id, doc_id=segment.doc_id, start=segment.start, end=segment.end, reason=reason)
