"""What a citation marker looks like, before asking where it stands."""

import re
from dataclasses import dataclass

# A longer range is no citation that a reader could follow, and must not cost memory.
MAX_RANGE = 50

_GAP = r"[ \t]*+"
_NUMBER = r"[1-9１-９][0-9０-９]{0,2}"
_RANGE = rf"{_NUMBER}(?:{_GAP}[-–]{_GAP}{_NUMBER})?"
_LIST = rf"{_GAP}{_RANGE}(?:{_GAP}[,，、]{_GAP}{_RANGE})*{_GAP}"

ASCII_MARKER = rf"\[(?P<ascii>{_LIST})\]"
WIDE_MARKER = rf"【(?P<lenticular>{_LIST})(?:†[^【】\n]{{0,200}})?】|［(?P<wide>{_LIST})］"

_MARKER = re.compile(f"{ASCII_MARKER}|{WIDE_MARKER}")
_BOUNDS = re.compile(rf"({_NUMBER})(?:{_GAP}[-–]{_GAP}({_NUMBER}))?")


@dataclass(frozen=True, slots=True)
class Marker:
    """The source numbers of one marker, in the order written and unique, and its range in the whole text."""

    numbers: tuple[int, ...]
    start: int
    end: int


def marker_at(text: str, position: int, base: int = 0) -> Marker | None:
    """The marker-shaped text at a position, its offsets moved by `base`; None when the shape is another."""
    match = _MARKER.match(text, position)
    numbers = _numbers(match["ascii"] or match["lenticular"] or match["wide"]) if match else ()
    return Marker(numbers, base + position, base + match.end()) if match and numbers else None


def _numbers(listed: str) -> tuple[int, ...]:
    """The numbers of "1, 3-5"; none at all when a range runs backwards or too far."""
    numbers: dict[int, None] = {}
    for bounds in _BOUNDS.finditer(listed):
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if not first <= last < first + MAX_RANGE:
            return ()
        numbers.update(dict.fromkeys(range(first, last + 1)))
    return tuple(numbers)
