"""Plain text."""

from retriever.ingest.decoding import decode_text
from retriever.ingest.document import ParsedDocument
from retriever.ingest.titles import title_from


def parse_plain(file_name: str, data: bytes) -> ParsedDocument:
    """The text as it is; raises UnreadableDocument."""
    text = decode_text(data)
    return ParsedDocument(title_from(text, file_name), "txt", text)
