"""Cuts a text into chunks at the best border at hand: page, section, paragraph, line, sentence, clause, word."""

import math
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from retriever.ingest.cuts import CUTS, Span, leads, trim
from retriever.ingest.document import Chunk, ParsedDocument

MAXIMUM = 400
MINIMUM = 80


def split_chunks(document: ParsedDocument, maximum: int = MAXIMUM, minimum: int = MINIMUM) -> tuple[Chunk, ...]:
    """Chunks in text order that together hold all text but white space, each on one page, in linear time.

    A chunk has at most `maximum` code points and no white space at its ends. Borders of sections and paragraphs are
    kept, unless what stands between two of them is shorter than `minimum` and fits its neighbour.
    """
    packer = _Packer(document.text, maximum, minimum)
    page_borders = {border for page in document.pages for border in (page.start, page.end)}
    for start, end in _regions(document, page_borders):
        if start in page_borders:
            packer.end_page()
        packer.add(start, end)
        packer.end_section()
    packer.end_page()
    starts = [section.start for section in document.sections]
    return tuple(
        Chunk(ordinal, start, end, _path(document, starts, (start + end) // 2))
        for ordinal, (start, end) in enumerate(packer.chunks)
    )


def _regions(document: ParsedDocument, page_borders: set[int]) -> Iterator[Span]:
    borders = {0, len(document.text), *page_borders}
    for section in document.sections:
        borders.update((section.start, section.end))
    return pairwise(sorted(borders))


def _path(document: ParsedDocument, starts: list[int], offset: int) -> tuple[str, ...]:
    index = bisect_right(starts, offset) - 1
    return document.sections[index].path if index >= 0 and offset < document.sections[index].end else ()


class _Packer:
    """Joins neighbouring parts of a text as long as they fit, and cuts those that don't."""

    def __init__(self, text: str, maximum: int, minimum: int) -> None:
        self.chunks: list[Span] = []
        self._text = text
        self._maximum = maximum
        self._minimum = minimum
        self._open: Span | None = None
        # A line at the end of the open chunk that says little without the next, and the end of what is before it.
        self._lead: Span | None = None
        self._page = 0

    def add(self, start: int, end: int, level: int = 0, share: int | None = None) -> None:
        """Add a part that may be cut at the borders of `level` and below, in chunks of about `share`."""
        start, end = trim(self._text, start, end)
        if start == end:
            return
        if not self._fits(start, end) and level < len(CUTS):
            self._add_parts(start, end, level)
        else:
            self._join(start, end, share or self._maximum)

    def end_section(self) -> None:
        """A chunk goes on from here only if it is too short to stay alone."""
        self._lead = None
        self._close_if_fair(self._minimum)

    def end_page(self) -> None:
        """No chunk goes on from here; a last bit may still join the chunk before it."""
        if self._open is not None:
            start, end = self._open
            is_bit = end - start < self._minimum and len(self.chunks) > self._page
            if is_bit and end - self.chunks[-1][0] <= self._maximum:
                start, _ = self.chunks.pop()
            self.chunks.append((start, end))
        self._open = self._lead = None
        self._page = len(self.chunks)

    def _fits(self, start: int, end: int) -> bool:
        """Whether a part need not be cut: by itself, or also with a short one before it that should not stay alone."""
        if self._open is not None and self._open[1] - self._open[0] < self._minimum:
            start = self._open[0]
        return end - start <= self._maximum

    def _add_parts(self, start: int, end: int, level: int) -> None:
        length = end - start
        share = math.ceil(length / math.ceil(length / self._maximum))
        self._close_if_fair(self._minimum)
        for part_start, part_end in CUTS[level](self._text, start, end):
            self.add(part_start, part_end, level + 1, share)
        self._close_if_fair(self._minimum)

    def _join(self, start: int, end: int, share: int) -> None:
        self._close_if_fair(share, end)
        if self._open is not None and end - self._open[0] > self._maximum:
            self._close(end)
        if self._open is None:
            self._open, self._lead = (start, end), None
            return
        first, last = self._open
        self._open = (first, end)
        self._lead = (start, last) if leads(self._text, start, end) else None

    def _close_if_fair(self, length: int, following: int | None = None) -> None:
        if self._open is not None and self._open[1] - self._open[0] >= length:
            self._close(following)

    def _close(self, following: int | None) -> None:
        """End the open chunk; a line that leads on is left open if all fits up to `following`."""
        if self._open is None:
            return
        (start, end), lead = self._open, self._lead
        self._open = self._lead = None
        if lead and lead[1] - start >= self._minimum and (following or end) - lead[0] <= self._maximum:
            self._open = (lead[0], end)
            end = lead[1]
        self.chunks.append((start, end))
