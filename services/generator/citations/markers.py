"""Finds the citation markers of a Markdown answer while it is being written.

A marker is `[1]`, `[1,2]` (also with `，` or `、`), `[1-3]` (also with an en dash), or the same in `［ ］` or `【 】`,
where `【1†source】` counts as well. A number has one to three digits and no leading zero, a range at most 50 members;
anything else in brackets (`[2024]`, `[0]`, `[x]`, `[^1]`) is plain text. Where the same characters could be either:

- `[n]` directly after an ASCII letter, digit or underscore is an index (`arr[7]`), and so is every bracket glued to an
  index (`arr[1][2]`). After anything else, CJK text and punctuation included, it is a marker. Full-width brackets index
  nothing, so they are markers after a word too.
- `[1][2]` is two markers. `[1][ref]` and `[text][1]` are reference links, whether or not a definition follows, and
  `[1]: target` on its own line is a definition. `[1](…)` is a link only if `…` is a valid destination; so in
  `[1](see page 4)` the marker counts.
- Nothing inside code, links, images, HTML tags, URLs or math counts. `$…$` is math by Pandoc's rule: no space inside
  the dollars, no digit after them, so that `$5 to $10` is money.
- A construct that its paragraph leaves open was never opened, as in CommonMark; a backslash takes a character's
  meaning away. A marker left open at the end is text.

What comes later can change what a marker means only within its block (paragraph, list item, heading, table row).
So a block's markers are given out when the block is complete, and no way to split the text can change the result.
"""

from generator.citations.blocks import Block, BlockSplitter
from generator.citations.inline import InlineScanner
from generator.citations.shapes import Marker

__all__ = ["Marker", "MarkerParser", "find_markers"]


class MarkerParser:
    """Takes a text in pieces; gives each marker once, in order, with its offsets in the whole text."""

    def __init__(self) -> None:
        self._blocks = BlockSplitter()
        self._line: list[str] = []

    def feed(self, text: str) -> list[Marker]:
        """The markers of the blocks that this piece completes."""
        found: list[Marker] = []
        for piece in text.splitlines(keepends=True) if "\n" in text else [text]:
            self._line.append(piece)
            if piece.endswith("\n"):
                found += _scan(self._blocks.add(self._take_line()))
        return found

    def close(self) -> list[Marker]:
        """The markers of what is left. Call it once, at the end."""
        return _scan(self._blocks.add(self._take_line())) + _scan(self._blocks.close())

    def _take_line(self) -> str:
        line = "".join(self._line)
        self._line.clear()
        return line


def find_markers(text: str) -> list[Marker]:
    """All markers of a complete text."""
    parser = MarkerParser()
    return parser.feed(text) + parser.close()


def _scan(blocks: list[Block]) -> list[Marker]:
    return [marker for block in blocks for marker in InlineScanner(block.text, block.start).scan()]
