"""Rows of a table as lines that each say by themselves what their values are."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final

from citewire.text.normalise import clean
from retriever.ingest.chunks import MAXIMUM
from retriever.ingest.titles import one_line

CELL_BORDER: Final = " | "
# Rows from the top among which the one with the columns' names is looked for.
_HEADER_WITHIN: Final = 20
_LONGEST_NAME: Final = 80
# What tells a row from others is mostly its first cell; a longer one is text.
_LONGEST_KEY: Final = 80
# The share of the table's width that its header fills at least; what stands above it is mostly one cell wide.
_HEADER_SHARE: Final = 0.6
_VALUE: Final = re.compile(r"[-+−(]?\s*[$€£¥￥]?\s*\d[\d.,'’\s:/%)-]*|\d{4}[-/.年]\d{1,2}.*|true|false", re.IGNORECASE)

Row = Sequence[str]


def row_lines(rows: Iterator[Row]) -> Iterator[str]:
    """A line for each row with text: `Name: value | Name: value`, or values alone where no row names the columns.

    A row too long for a chunk takes several lines. Rows above the one with the names are lines of values. Rows may
    differ in length; the input is read only as lines are asked for.
    """
    first = [_cleaned(row) for row in islice(rows, _HEADER_WITHIN)]
    header = _header_index(first)
    names: Row = ()
    if header is not None:
        for row in first[:header]:
            yield from _lines(row, ())
        names = first[header]
        first = first[header + 1 :]
    for row in chain(first, map(_cleaned, rows)):
        yield from _lines(row, names)


def _cleaned(row: Row) -> Row:
    return [one_line(clean(cell)) for cell in row]


def _header_index(rows: Sequence[Row]) -> int | None:
    """The first row that could name the columns and has a row under it; None if the table has no such row."""
    width = max((sum(map(bool, row)) for row in rows), default=0)
    for index, row in enumerate(rows[:-1]):
        names = [cell for cell in row if cell]
        if names and len(names) >= _HEADER_SHARE * width:
            return index if _are_names(names) and _has_text(rows[index + 1 :]) else None
    return None


def _are_names(cells: Row) -> bool:
    are_words = all(len(cell) <= _LONGEST_NAME and not _VALUE.fullmatch(cell) for cell in cells)
    return are_words and len(set(cells)) == len(cells)


def _has_text(rows: Sequence[Row]) -> bool:
    return any(any(row) for row in rows)


def _lines(row: Row, names: Row) -> Iterator[str]:
    """A row in one line, or in as many as it takes to fit chunks, each of which begins with the first cell."""
    cells = [
        f"{names[index]}: {value}" if index < len(names) and names[index] else value
        for index, value in enumerate(row)
        if value
    ]
    first = [cell for cell in cells[:1] if len(cell) <= _LONGEST_KEY]
    line: list[str] = []
    for cell in cells:
        if len(line) > len(first) and len(CELL_BORDER.join([*line, cell])) > MAXIMUM:
            yield CELL_BORDER.join(line)
            line = [*first]
        line.append(cell)
    if line:
        yield CELL_BORDER.join(line)
