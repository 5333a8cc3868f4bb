"""The registry of formats: by the file's ending, and the content must agree."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import PurePath
from typing import Final

from retriever.ingest.document import ParsedDocument, UnreadableDocument
from retriever.ingest.kinds import advice, check_content

Parser = Callable[[str, bytes], ParsedDocument]

# A parser is loaded when a file needs it: all of their libraries together take three times as long as the rest.
PARSERS: Final[Mapping[str, str]] = {
    ".txt": "plain.parse_plain",
    ".text": "plain.parse_plain",
    ".log": "plain.parse_plain",
    ".md": "markdown.parse_markdown",
    ".markdown": "markdown.parse_markdown",
    ".html": "html.parse_html",
    ".htm": "html.parse_html",
    ".pdf": "pdf.parse_pdf",
    ".docx": "word.parse_word",
    ".docm": "word.parse_word",
    ".xlsx": "sheets.parse_sheets",
    ".xlsm": "sheets.parse_sheets",
    ".pptx": "slides.parse_slides",
    ".pptm": "slides.parse_slides",
    ".csv": "delimited.parse_delimited",
    ".tsv": "delimited.parse_delimited",
}


def parse(file_name: str, data: bytes) -> ParsedDocument:
    """Read a file; raises UnreadableDocument with a reason for its owner."""
    ending = PurePath(file_name).suffix.lower()
    if ending not in PARSERS:
        known = advice(ending) or f"known are {', '.join(PARSERS)}"
        raise UnreadableDocument(f"unknown type {ending or file_name!r}: {known}")
    if not data.strip(b"\0 \t\r\n"):
        raise UnreadableDocument("is empty")
    check_content(ending, data)
    document = _parser(ending)(file_name, data)
    if not document.text.strip():
        raise UnreadableDocument("; ".join(["no text found", *document.notes, "scanned images are not read"]))
    return document


def _parser(ending: str) -> Parser:
    module, function = PARSERS[ending].split(".")
    parser: Parser = getattr(import_module(f"retriever.ingest.{module}"), function)
    return parser


__all__ = ["PARSERS", "ParsedDocument", "UnreadableDocument", "parse"]
