"""What is said of a chunk beside its text: the document's title and the headings above it."""

from typing import Final

from retriever.ingest.document import SEPARATOR, Chunk, ParsedDocument

MAX_HEADER: Final = 300
_MAX_PART: Final = 120


def chunk_header(document: ParsedDocument, chunk: Chunk) -> str:
    """`Title › Section › Subsection`, without the title twice; at most 300 characters.

    Where that is too long, the outer sections go first: the innermost says most of the chunk.
    """
    parts = [document.title, *chunk.path]
    if len(parts) > 1 and parts[1].casefold() == parts[0].casefold():
        del parts[1]
    parts = [_shortened(part) for part in parts]
    while len(SEPARATOR.join(parts)) > MAX_HEADER:
        del parts[1]
    return SEPARATOR.join(parts)


def _shortened(part: str) -> str:
    return part if len(part) <= _MAX_PART else part[: _MAX_PART - 1].rstrip() + "…"
