"""Cuts a text into the pieces that chunks are packed from: sentences, with the list marks before them."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from citewire.text.sentences import split_sentences

Span = tuple[int, int]

_PARAGRAPH: Final = re.compile(r"\n[^\S\n]*\n\s*")
# A heading, a list's mark by itself, or what announces a list: all say little without what follows.
_MARK: Final = re.compile(r"(?:[-*+•·▪●◦–—]|\(?[0-9a-zA-Z]{1,3}[.)、])")
_TITLE: Final = re.compile(r"[^\n]{1,80}(?<![.!?;…。！？；,，、])")
_ANNOUNCEMENT: Final = re.compile(r"[^\n]{1,200}(?<=[:：])")
_LINE_BEFORE: Final = re.compile(r"(?:\A|\n)[^\S\n]*\Z")
_LINE_BEHIND: Final = re.compile(r"[^\S\n]*(?:\n|\Z)")
_INDENT: Final = 40

# Where a sentence longer than a chunk may be cut, best first.
_CLAUSE: Final = re.compile(r"[，、；：）](?=[^”’」』）》])|[,;:)](?=\s)")
_SPACE: Final = re.compile(r"\s+")
# What holds on to the character before it, and to the one behind.
_JOINED: Final = re.compile("[\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")
_JOINS: Final = re.compile("\u200d")
_MOST_MARKS: Final = 30


class Piece(NamedTuple):
    """A span of the text; whether it opens a paragraph, and whether it belongs to what follows it."""

    start: int
    end: int
    opens: bool
    leads: bool


def split_pieces(text: str, part: Span, headings: Collection[int]) -> Iterator[Piece]:
    """The pieces of a part of the text, in order, without white space around them; `headings` are offsets."""
    for paragraph in _paragraphs(text, part):
        opens = True
        for start, end in _sentences(text, paragraph):
            leads = start in headings or _leads(text, start, end)
            yield Piece(start, end, opens, leads)
            opens = False


def cut_before(text: str, start: int, limit: int) -> int:
    """Where to cut a sentence that goes beyond `limit`: behind a clause, a word, or a whole character."""
    middle = start + (limit - start) // 2
    for border in (_CLAUSE, _SPACE):
        places = [found.end() for found in border.finditer(text, middle, limit + 1) if found.end() <= limit]
        if places:
            return places[-1]
    return _character_border(text, limit)


def skip_space(text: str, start: int) -> int:
    """The first offset from `start` that holds no white space."""
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _paragraphs(text: str, part: Span) -> Iterator[Span]:
    start = part[0]
    for gap in _PARAGRAPH.finditer(text, *part):
        yield start, gap.start()
        start = gap.end()
    yield start, part[1]


def _sentences(text: str, paragraph: Span) -> Iterator[Span]:
    """Spans that cover a paragraph: each reaches to where the next sentence, or the mark before it, starts."""
    start, end = paragraph
    body = text[start:end]
    for begin, stop in pairwise([0, *_borders(body), len(body)]):
        piece = body[begin:stop]
        left, right = len(piece) - len(piece.lstrip()), len(piece.rstrip())
        if left < right:
            yield start + begin + left, start + begin + right


def _borders(body: str) -> Iterator[int]:
    for (_, end), (start, _) in pairwise(split_sentences(body)):
        # What stands between a line's start and its first sentence is a bullet, a number, a nickname.
        yield body.rfind("\n", end, start) + 1 or start


def _leads(text: str, start: int, end: int) -> bool:
    """Whether this is a whole line that says little without the next."""
    is_line = _LINE_BEFORE.search(text, max(0, start - _INDENT), start) and _LINE_BEHIND.match(text, end)
    return bool(is_line) and any(form.fullmatch(text, start, end) for form in (_MARK, _TITLE, _ANNOUNCEMENT))


def _character_border(text: str, limit: int) -> int:
    """An offset near `limit` that does not part an accent or a joined emoji from its character."""
    for offset in range(limit, limit - _MOST_MARKS, -1):
        after = text[offset : offset + 1]
        if not after or not (unicodedata.combining(after) or _JOINS.match(text, offset - 1) or _JOINED.match(after)):
            return offset
    return limit
