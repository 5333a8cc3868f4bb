"""A parsed document and its chunks; all offsets are code points of the one text, half-open `[start, end)`."""

from dataclasses import dataclass
from typing import NamedTuple

SEPARATOR = " › "


class UnreadableDocument(Exception):  # noqa: N818 - what is wrong with the file, for its owner
    """The file can't be read; `str()` says why in words for its owner."""


@dataclass(frozen=True)
class Page:
    """A physical page, counted from 1, with its printed label when the file has labels."""

    number: int
    label: str | None
    start: int
    end: int


@dataclass(frozen=True)
class Section:
    """A part of the text under a path of headings, outermost first; it begins with its heading, up to `body`."""

    path: tuple[str, ...]
    start: int
    body: int
    end: int


@dataclass(frozen=True)
class ParsedDocument:
    """What a parser makes of a file: `text` is what is stored and quoted.

    Pages and sections stand in text order and do not overlap; between pages there is only white space. Formats
    without pages have none; text before the first heading lies in no section. `notes` say, for the owner, what of the
    file is not in the text.
    """

    title: str
    document_type: str
    text: str
    pages: tuple[Page, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()


class Chunk(NamedTuple):
    """A slice of the text that is searched by itself, with the headings above it, outermost first."""

    ordinal: int
    start: int
    end: int
    path: tuple[str, ...] = ()

    @property
    def section(self) -> str:
        """The path in one line."""
        return SEPARATOR.join(self.path)
