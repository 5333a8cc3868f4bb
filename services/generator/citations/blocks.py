"""Cuts Markdown, line by line, into the blocks whose inline content can hold a marker.

The block structure of CommonMark 0.31 (appendix, "Phase 1") as far as it decides what is code and where a paragraph
ends: block quotes, list items, fences, indented code, headings, breaks; and GFM table rows (`|` at both ends), one
block each. Display math at the start of a block keeps its lines together, whatever they begin with. A block is a
contiguous slice of the text with quote and list marks blanked out, so its offsets stay those of the text.
"""

import re
from dataclasses import dataclass

from generator.citations.line import Line

# Deeper containers are read as text, so that no line costs more than its own length times a constant.
MAX_CONTAINERS = 32
CODE_INDENT = 4

_QUOTE = 0  # in the container stack; a list item is the width of its indent, at least 2
_FENCE = re.compile(r"(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_LIST_MARK = re.compile(r"(?:[-+*]|(?P<number>[0-9]{1,9})[.)])(?=[ \t\r\n]|$)")
_BREAK = re.compile(r"(?:\*[ \t]*){3,}$|(?:-[ \t]*){3,}$|(?:_[ \t]*){3,}$")
_UNDERLINE = re.compile(r"(?:=+|-+)$")
_SINGLE_LINE = re.compile(r"#{1,6}(?=[ \t]|$)|\|.*\|$")
_DISPLAY_MATH = {"$$": "$$", r"\[": r"\]"}


@dataclass(frozen=True, slots=True)
class Block:
    """Inline content and where it starts in the whole text."""

    text: str
    start: int


class BlockSplitter:
    """Takes lines, each with its line feed, and gives back the blocks that they complete."""

    def __init__(self) -> None:
        self._offset = 0
        self._containers: list[int] = []
        self._fence: str | None = None
        self._math_closer: str | None = None
        self._lines: list[str] = []
        self._start = 0
        self._complete: list[Block] = []

    def add(self, text: str) -> list[Block]:
        """The blocks that end before or with this line."""
        self._read(Line(text))
        self._offset += len(text)
        return self._take()

    def close(self) -> list[Block]:
        """The block that the end of the text completes, if one is open."""
        self._flush()
        return self._take()

    def _take(self) -> list[Block]:
        complete, self._complete = self._complete, []
        return complete

    def _read(self, line: Line) -> None:
        matched = self._match_containers(line)
        if self._fence and matched == len(self._containers):
            self._read_fenced(line)
            return
        self._fence = None
        if line.is_blank():
            self._flush()
            del self._containers[matched:]
        elif self._math_closer and not _FENCE.match(line.rest()):
            self._append(line)
        else:
            self._read_leaf(line, matched)

    def _match_containers(self, line: Line) -> int:
        """How many of the open containers go on in this line; skips their marks."""
        for index, width in enumerate(self._containers):
            if width == _QUOTE:
                if not line.skip_quote_mark():
                    return index
            elif line.indent() >= width:
                line.skip_columns(width)
            elif not line.is_blank():
                return index
        return len(self._containers)

    def _read_fenced(self, line: Line) -> None:
        fence = self._fence or ""
        rest = line.rest().strip()
        if line.indent() < CODE_INDENT and rest.startswith(fence) and not rest.strip(fence[0]):
            self._fence = None

    def _read_leaf(self, line: Line, matched: int) -> None:
        continues = matched == len(self._containers)
        if self._lines and not continues and not self._starts_block(line, interrupts=False):
            self._append(line)  # CommonMark's lazy continuation
            return
        if not continues:
            self._flush()
            del self._containers[matched:]
        self._open_containers(line)
        if line.is_blank() or (line.indent() >= CODE_INDENT and not self._lines):
            return
        if line.indent() >= CODE_INDENT or not self._read_special(line):
            self._append(line)

    def _starts_block(self, line: Line, *, interrupts: bool) -> bool:
        if line.indent() >= CODE_INDENT:
            return False
        rest = line.rest()
        special = rest.startswith(">") or _FENCE.match(rest) or _SINGLE_LINE.match(rest) or _BREAK.match(rest)
        return bool(special) or _list_mark(rest, interrupts=interrupts) is not None

    def _open_containers(self, line: Line) -> None:
        while line.indent() < CODE_INDENT and len(self._containers) < MAX_CONTAINERS:
            mark = None if _BREAK.match(line.rest()) else _list_mark(line.rest(), interrupts=bool(self._lines))
            if line.skip_quote_mark():
                width = _QUOTE
            elif mark:
                width = line.skip_list_mark(mark)
            else:
                return
            self._flush()
            self._containers.append(width)

    def _read_special(self, line: Line) -> bool:
        """Handles a line that is no paragraph text: a fence, a break, an underline, a heading, a table row."""
        rest = line.rest()
        fence = _FENCE.match(rest)
        if fence:
            self._flush()
            self._fence = fence["fence"]
        elif _BREAK.match(rest) or (self._lines and _UNDERLINE.match(rest)):
            self._flush()
        elif _SINGLE_LINE.match(rest):
            self._flush()
            self._append(line)
            self._flush()
        else:
            return False
        return True

    def _append(self, line: Line) -> None:
        rest = line.rest()
        if not self._lines:
            self._start = self._offset
            self._math_closer = _DISPLAY_MATH.get(rest[:2])
            rest = rest[2:]
        if self._math_closer and self._math_closer in rest:
            self._math_closer = None
        self._lines.append(line.without_marks())

    def _flush(self) -> None:
        if self._lines:
            self._complete.append(Block("".join(self._lines), self._start))
        self._lines = []
        self._math_closer = None


def _list_mark(rest: str, *, interrupts: bool) -> str | None:
    """The mark of a list item. Within a paragraph, "1." starts a list but the "2024." of a broken line does not."""
    mark = _LIST_MARK.match(rest)
    if mark is None or (interrupts and (mark["number"] not in {None, "1"} or mark.end() == len(rest))):
        return None
    return mark[0]
