"""From headings to the sections under them."""

from collections.abc import Sequence
from dataclasses import dataclass

from retriever.ingest.document import Section


@dataclass(frozen=True)
class Heading:
    """Where a heading stands in the text, its rank (1 is the highest) and its words."""

    start: int
    end: int
    level: int
    words: str


def nest_headings(headings: Sequence[Heading], length: int) -> tuple[Section, ...]:
    """Sections from headings in text order: each holds until the next, under those of a higher rank before it.

    A heading without words closes nothing.
    """
    worded = [heading for heading in headings if heading.words]
    ends = [*(heading.start for heading in worded[1:]), length]
    sections: list[Section] = []
    path: list[Heading] = []
    for heading, end in zip(worded, ends, strict=False):
        path = [*(outer for outer in path if outer.level < heading.level), heading]
        sections.append(Section(tuple(outer.words for outer in path), heading.start, heading.end, end))
    return tuple(sections)
