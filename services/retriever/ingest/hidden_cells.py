"""Rows and columns of a sheet that its reader does not see; openpyxl tells only when it reads a sheet as a whole."""

from dataclasses import dataclass, field
from typing import IO, Final

from lxml import etree  # type: ignore[import-untyped] # has no annotations

from retriever.ingest.document import UnreadableDocument
from retriever.ingest.limits import MAX_ROWS
from retriever.ingest.office import Element, is_on

_NAMESPACE: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_COLUMN: Final = f"{_NAMESPACE}col"
_ROW: Final = f"{_NAMESPACE}row"
_MAX_COLUMNS: Final = 16_384


@dataclass
class HiddenCells:
    """Numbers, from 1, of the rows and columns that are hidden, and which of them were found to hold something."""

    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    lost: set[tuple[str, int]] = field(default_factory=set)

    def without(self, row: list[str], number: int) -> list[str]:
        """What is left of a row."""
        if number in self.rows:
            if any(row):
                self.lost.add(("row", number))
            return []
        for index in range(len(row)) if self.columns else ():
            if row[index] and index + 1 in self.columns:
                self.lost.add(("column", index + 1))
                row[index] = ""
        return row


def find_hidden(sheet: IO[bytes]) -> HiddenCells:
    """Read a sheet's XML once.

    Raises UnreadableDocument for a row that no sheet can have, ValueError and the parser's own errors for broken XML.
    """
    hidden = HiddenCells()
    number = 0
    for _, element in etree.iterparse(sheet, tag=(_ROW, _COLUMN), resolve_entities=False):
        is_hidden = is_on(element.get("hidden", "0"))
        if element.tag == _ROW:
            number = int(element.get("r") or number + 1)
            if number > MAX_ROWS:
                # The library would make up all the rows before it.
                raise UnreadableDocument(f"has more than {MAX_ROWS:,} rows")
            hidden.rows.update({number} if is_hidden else ())
        elif is_hidden:
            last = min(int(element.get("max", "0")), _MAX_COLUMNS)
            hidden.columns.update(range(int(element.get("min", "1")), last + 1))
        _let_go(element)
    return hidden


def _let_go(element: Element) -> None:
    """Forget what was read, or a large sheet would be held whole."""
    element.clear()
    while element.getprevious() is not None:
        del element.getparent()[0]
