"""Word documents by python-docx: paragraphs, lists and tables in their order, without pages."""

import io
from collections.abc import Iterator
from typing import Final

from docx.opc.exceptions import OpcError
from docx.opc.part import PartFactory
from docx.oxml.exceptions import InvalidXmlError
from docx.package import Package
from docx.parts.document import DocumentPart

from retriever.ingest.document import ParsedDocument
from retriever.ingest.office import Element, broken_is_unreadable, is_on
from retriever.ingest.rows import CELL_BORDER
from retriever.ingest.titles import one_line, own_title, title_from
from retriever.ingest.word_runs import ParagraphReader
from retriever.ingest.word_styles import WORD, Styles
from retriever.ingest.writer import DocumentWriter

_PARAGRAPH: Final = f"{WORD}p"
_TABLE: Final = f"{WORD}tbl"
_ROW: Final = f"{WORD}tr"
_CELL: Final = f"{WORD}tc"
# What holds blocks without being one: controls, marks of insertion, other programs' marks.
_WRAPPERS: Final = frozenset(
    f"{WORD}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag")
)
_BULLET: Final = "- "

# With macros, the document is of another type; the macros themselves are never looked at.
PartFactory.part_type_for["application/vnd.ms-word.document.macroEnabled.main+xml"] = DocumentPart


def parse_word(file_name: str, data: bytes) -> ParsedDocument:
    """The text as it stands with all changes accepted, without headers, footers, comments and hidden text.

    The title is the paragraph of that style, else the file's own, else the first heading or line. Raises
    UnreadableDocument.
    """
    writer = DocumentWriter()
    with broken_is_unreadable("Word document", OpcError, InvalidXmlError):
        part = Package.open(io.BytesIO(data)).main_document_part
        if not isinstance(part, DocumentPart):
            raise TypeError(part.content_type)
        styles = Styles(part.styles.element)
        walker = _Walker(writer, styles, ParagraphReader(part, styles, writer.losses))
        walker.walk(part.element.body)
        own = own_title(part.core_properties.title)
    title = walker.title or own or writer.first_heading or title_from(writer.text, file_name)
    return writer.document(title, "docx")


class _Walker:
    """Writes the blocks of a body."""

    def __init__(self, writer: DocumentWriter, styles: Styles, reader: ParagraphReader) -> None:
        self.title = ""
        self._writer = writer
        self._styles = styles
        self._reader = reader
        self._was_item = False

    def walk(self, container: Element) -> None:
        """Write everything in a body, a text box or the only cell of a row."""
        for block in _blocks(container):
            if block.tag == _TABLE:
                self._write_table(block)
            else:
                self._write_paragraph(block)

    def _write_paragraph(self, paragraph: Element) -> None:
        style = self._styles.of(paragraph)
        found = self._reader.read(paragraph, style)
        if style.is_title and not self.title:
            self.title = one_line(found.text)
        if found.text:
            is_item = style.is_item and style.level is None
            separator = "\n" if is_item and self._was_item else "\n\n"
            self._writer.add(_BULLET + found.text if is_item else found.text, separator, style.level)
            self._was_item = is_item
        for container in found.attached:
            self.walk(container)

    def _write_table(self, table: Element) -> None:
        separator = "\n\n"
        for row in _rows(table):
            cells = list(_children(row, _CELL))
            if len(cells) == 1:
                # A table of one cell is a frame around text.
                self.walk(cells[0])
                continue
            line = CELL_BORDER.join(one_line(" ".join(self._texts(cell))) for cell in cells)
            if line.strip(CELL_BORDER):
                self._writer.add(line, separator)
                separator = "\n"
        self._was_item = False

    def _texts(self, container: Element) -> Iterator[str]:
        """All text in a cell, that of tables and boxes in it as well."""
        for block in _blocks(container):
            if block.tag == _TABLE:
                for row in _rows(block):
                    for cell in _children(row, _CELL):
                        yield from self._texts(cell)
            else:
                found = self._reader.read(block, self._styles.of(block))
                yield found.text
                for attached in found.attached:
                    yield from self._texts(attached)


def _rows(table: Element) -> Iterator[Element]:
    return (row for row in _children(table, _ROW) if not _is_gone(row))


def _blocks(container: Element) -> Iterator[Element]:
    for child in container:
        if child.tag in {_PARAGRAPH, _TABLE}:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _blocks(child)


def _children(parent: Element, tag: str) -> Iterator[Element]:
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _children(child, tag)


def _is_gone(row: Element) -> bool:
    """Whether a row was deleted or is hidden."""
    properties = row.find(f"{WORD}trPr")
    if properties is None:
        return False
    hidden = properties.find(f"{WORD}hidden")
    return properties.find(f"{WORD}del") is not None or (hidden is not None and is_on(hidden.get(f"{WORD}val")))
