"""From a file's bytes to the version that is stored: text, pages, chunks with their headers. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from citewire.contracts.evidence import PageSpan
from retriever.contents import NewChunk, NewVersion
from retriever.ingest.chunks import split_chunks
from retriever.ingest.headers import chunk_header
from retriever.ingest.limits import MAX_NOTE, MAX_NOTES
from retriever.ingest.parsers import parse
from retriever.ingest.titles import one_line

# Characters of a title or a section path; what is longer is no title but a parser's mistake.
_MAX_TITLE = 300


def read_file(file_name: str, data: bytes) -> NewVersion:
    """Parse and split a file; raises UnreadableDocument with a reason for its owner."""
    document = parse(file_name, data)
    pages = tuple(
        PageSpan(number=page.number, label=page.label, start=page.start, end=page.end) for page in document.pages
    )
    starts, ends = [page.start for page in pages], [page.end for page in pages]
    chunks = tuple(
        NewChunk(
            ordinal=chunk.ordinal,
            start=chunk.start,
            end=chunk.end,
            section=chunk.section[:_MAX_TITLE],
            header=chunk_header(document, chunk),
            pages=pages[bisect_right(ends, chunk.start) : bisect_left(starts, chunk.end)],
        )
        for chunk in split_chunks(document)
    )
    return NewVersion(
        document.title[:_MAX_TITLE], document.document_type, document.text, pages, chunks, _short(document.notes)
    )


def _short(notes: Sequence[str]) -> tuple[str, ...]:
    """As many notes as are stored, each in one line."""
    return tuple(one_line(note)[:MAX_NOTE] for note in notes[:MAX_NOTES])
