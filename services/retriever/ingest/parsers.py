"""The registry of formats: by the file's ending, and the content must agree."""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Final

from retriever.ingest.delimited import parse_delimited
from retriever.ingest.document import ParsedDocument, UnreadableDocument
from retriever.ingest.html import parse_html
from retriever.ingest.kinds import advice, check_content
from retriever.ingest.markdown import parse_markdown
from retriever.ingest.pdf import parse_pdf
from retriever.ingest.plain import parse_plain
from retriever.ingest.sheets import parse_sheets
from retriever.ingest.slides import parse_slides
from retriever.ingest.word import parse_word

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
    ".docx": parse_word,
    ".docm": parse_word,
    ".xlsx": parse_sheets,
    ".xlsm": parse_sheets,
    ".pptx": parse_slides,
    ".pptm": parse_slides,
    ".csv": parse_delimited,
    ".tsv": parse_delimited,
}


def parse(file_name: str, data: bytes) -> ParsedDocument:
    """Read a file; raises UnreadableDocument with a reason for its owner."""
    ending = PurePath(file_name).suffix.lower()
    parser = PARSERS.get(ending)
    if parser is None:
        known = advice(ending) or f"known are {', '.join(PARSERS)}"
        raise UnreadableDocument(f"unknown type {ending or file_name!r}: {known}")
    if not data.strip(b"\0 \t\r\n"):
        raise UnreadableDocument("is empty")
    check_content(ending, data)
    document = parser(file_name, data)
    if not document.text.strip():
        raise UnreadableDocument("; ".join(["no text found", *document.notes, "scanned images are not read"]))
    return document


__all__ = ["PARSERS", "ParsedDocument", "UnreadableDocument", "parse"]
