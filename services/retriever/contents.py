"""What a file becomes when it is read: the version that is stored, or why there is none. Pure."""

from dataclasses import dataclass
from typing import NamedTuple

from citewire.contracts.evidence import PageSpan


class NewChunk(NamedTuple):
    """A slice `[start, end)` of the version's text that is searched by itself.

    A tuple, as all that is made for each chunk: made, sent and freed in half the time.
    """

    ordinal: int
    start: int
    end: int
    section: str
    header: str
    pages: tuple[PageSpan, ...]


@dataclass(frozen=True)
class NewVersion:
    """All that is stored of a file; `notes` say what of it is not in the text, in short sentences for its owner."""

    title: str
    document_type: str
    text: str
    pages: tuple[PageSpan, ...]
    chunks: tuple[NewChunk, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unreadable:
    """Why a file can't be read, for its owner."""

    reason: str
