"""What is said of a chunk beside its text: the document's title, the headings above it, perhaps summaries."""

from collections.abc import Mapping, Sequence
from typing import Final

from retriever.ingest.document import SEPARATOR, Chunk, ParsedDocument
from retriever.ingest.parts import Part, path_of
from retriever.ingest.summary import shortened, width

MAX_HEADER: Final = 300
# Columns of a header with summaries, two for a wide character: beside the longest chunk it fits what an embedder reads.
MAX_CONTEXTUAL_HEADER: Final = 640
_MAX_PART: Final = 120
_BEFORE_SUMMARY: Final = " — "
# Columns below which the rest of a summary says nothing.
_LEAST_SUMMARY: Final = 40


def chunk_header(document: ParsedDocument, chunk: Chunk) -> str:
    """`Title › Section › Subsection`, without the title twice; at most 300 characters.

    Where that is too long, the outer sections go first: the innermost says most of the chunk.
    """
    return _joined(document.title, chunk.path)


def contextual_headers(
    title: str, sections: Sequence[str], parts: Sequence[Part], summary: str, of_parts: Mapping[int, str]
) -> dict[int, str]:
    """Headers with summaries by the ordinal of the chunk, given the headings above each; parts are counted from 1."""
    own = {
        ordinal: of_parts.get(number, "")
        for number, part in enumerate(parts, 1)
        for ordinal in range(part.first, part.end)
    }
    # The chunks of a section share their header.
    keys = [(section, own.get(ordinal, "")) for ordinal, section in enumerate(sections)]
    made = {key: contextual_header(title, path_of(key[0]), (key[1], summary)) for key in dict.fromkeys(keys)}
    return {ordinal: made[key] for ordinal, key in enumerate(keys)}


def contextual_header(title: str, path: Sequence[str], summaries: Sequence[str]) -> str:
    """The same with summaries behind it, the most important first: `Title › Section — summary — summary`.

    At most MAX_CONTEXTUAL_HEADER columns; the last summary that finds room is cut.
    """
    header = _joined(title, path)
    for summary in filter(None, summaries):
        room = MAX_CONTEXTUAL_HEADER - width(header) - len(_BEFORE_SUMMARY)
        if width(summary) > room < _LEAST_SUMMARY:
            break
        header += _BEFORE_SUMMARY + shortened(summary, room)
    return header


def _joined(title: str, path: Sequence[str]) -> str:
    parts = [title, *path]
    if len(parts) > 1 and parts[1].casefold() == parts[0].casefold():
        del parts[1]
    parts = [_shortened(part) for part in parts]
    while len(SEPARATOR.join(parts)) > MAX_HEADER:
        del parts[1]
    return SEPARATOR.join(parts)


def _shortened(part: str) -> str:
    return part if len(part) <= _MAX_PART else part[: _MAX_PART - 1].rstrip() + "…"
