"""Excel workbooks by openpyxl: each visible sheet is a section, each row a line."""

import io
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, time, timedelta
from typing import Any, Final

import openpyxl  # type: ignore[import-untyped] # has no annotations
from openpyxl.utils.exceptions import InvalidFileException  # type: ignore[import-untyped] # has no annotations

from retriever.ingest.document import ParsedDocument, UnreadableDocument
from retriever.ingest.hidden_cells import HiddenCells, find_hidden
from retriever.ingest.limits import MAX_CELLS
from retriever.ingest.office import broken_is_unreadable
from retriever.ingest.rows import Row, row_lines
from retriever.ingest.titles import file_title, own_title
from retriever.ingest.writer import DocumentWriter

_HIDING_FORMAT: Final = ";;;"
# Digits that a double surely has; the ones behind are noise of the conversion to binary.
_DIGITS: Final = 15


def parse_sheets(file_name: str, data: bytes) -> ParsedDocument:
    """The visible cells of the visible sheets, with the values last calculated; raises UnreadableDocument."""
    writer = DocumentWriter()
    with (
        broken_is_unreadable("Excel workbook", InvalidFileException),
        closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)) as workbook,
    ):
        budget = _Budget()
        for sheet in workbook.worksheets:
            if sheet.sheet_state == "visible":
                _write_sheet(writer, sheet, budget)
            else:
                writer.losses.others.append(f"hidden sheet left out: {sheet.title}")
        title = own_title(workbook.properties.title or "") or file_title(file_name)
    return writer.document(title, "xlsx")


class _Budget:
    """Counts cells over all sheets."""

    def __init__(self) -> None:
        self._cells = 0

    def spend(self, cells: int) -> None:
        """Raises UnreadableDocument when there are too many."""
        self._cells += cells
        if self._cells > MAX_CELLS:
            raise UnreadableDocument(f"has more than {MAX_CELLS:,} cells")


def _write_sheet(writer: DocumentWriter, sheet: Any, budget: _Budget) -> None:
    with sheet._get_source() as source:  # noqa: SLF001 - where a sheet's XML lies is not told otherwise
        hidden = find_hidden(source)
    for index, line in enumerate(row_lines(_visible_rows(sheet, hidden, budget))):
        if index == 0:
            writer.add(sheet.title, level=1)
        writer.add(line, "\n" if index else "\n\n")
    writer.losses.hidden += len(hidden.lost)


def _visible_rows(sheet: Any, hidden: HiddenCells, budget: _Budget) -> Iterator[Row]:
    # A sheet may lie about its size, and each row would be filled up to it.
    sheet.reset_dimensions()
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        values = [_shown(cell) for cell in cells]
        budget.spend(sum(map(bool, values)))
        yield hidden.without(values, number)


def _shown(cell: Any) -> str:
    """A cell's value as its reader sees it, but for dates, which are ISO."""
    value = cell.value
    if value is None or cell.data_type == "e" or cell.number_format == _HIDING_FORMAT:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return _number(value, cell.number_format)
    return _moment(value)


def _moment(value: datetime | date | time | timedelta | str) -> str:
    """A date or time in its ISO form; a text as it is."""
    match value:
        case datetime():
            return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
        case time():
            return value.isoformat("seconds")
        case _:
            return str(value)


def _number(value: float, number_format: str) -> str:
    if "%" in number_format:
        return f"{_plain(value * 100)}%"
    return _plain(value)


def _plain(value: float) -> str:
    """A number without an exponent where that is readable, and without the noise of binary fractions."""
    if isinstance(value, int):
        return str(value)
    text = f"{value:.{_DIGITS}g}"
    is_readable = "e" in text and 1e-9 < abs(value) < 1e21  # noqa: PLR2004
    return f"{value:.{_DIGITS}f}".rstrip("0").rstrip(".") if is_readable else text
