"""The registry of formats: by the file's ending, and the content must agree."""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Final

from retriever.ingest.document import ParsedDocument, UnreadableDocument
from retriever.ingest.html import parse_html
from retriever.ingest.markdown import parse_markdown
from retriever.ingest.pdf import parse_pdf
from retriever.ingest.plain import parse_plain

Parser = Callable[[str, bytes], ParsedDocument]

PARSERS: Final[Mapping[str, Parser]] = {
    ".txt": parse_plain,
    ".text": parse_plain,
    ".log": parse_plain,
    ".md": parse_markdown,
    ".markdown": parse_markdown,
    ".html": parse_html,
    ".htm": parse_html,
    ".pdf": parse_pdf,
}

_PDF_MARK: Final = b"%PDF-"
# Readers of PDF look for the mark that far into the file.
_PDF_MARK_WITHIN: Final = 1024
# How files begin that are often found under a wrong name.
_MARKS: Final = (
    (_PDF_MARK, "a PDF"),
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"{\\rtf", "a Rich Text document"),
    (b"\x1f\x8b", "compressed data"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
)


def parse(file_name: str, data: bytes) -> ParsedDocument:
    """Read a file; raises UnreadableDocument with a reason for its owner."""
    ending = PurePath(file_name).suffix.lower()
    parser = PARSERS.get(ending)
    if parser is None:
        raise UnreadableDocument(f"unknown type {ending or file_name!r}; known are {', '.join(PARSERS)}")
    if not data.strip(b"\0 \t\r\n"):
        raise UnreadableDocument("is empty")
    _check_content(ending, data)
    document = parser(file_name, data)
    if not document.text.strip():
        raise UnreadableDocument("no text found; scanned images are not read")
    return document


def _check_content(ending: str, data: bytes) -> None:
    if ending == ".pdf":
        if _PDF_MARK not in data[:_PDF_MARK_WITHIN]:
            raise UnreadableDocument("is called .pdf but is no PDF")
        return
    for mark, kind in _MARKS:
        if data.startswith(mark):
            raise UnreadableDocument(f"is called {ending} but is {kind}")


__all__ = ["PARSERS", "ParsedDocument", "UnreadableDocument", "parse"]
