"""Markers in one block of Markdown, such as a paragraph, in time linear in its length."""

import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

import regex

from generator.citations.links import definition_end, label_end, link_end
from generator.citations.shapes import Marker, marker_at

_SIGN = re.compile(r"[\\`$<\[\]【［]")
_SIGN_OR_URL = re.compile(r"[\\`$<\[\]【［]|(?:https?|ftp)://|(?<![A-Za-z0-9])www\.", re.IGNORECASE)
_NOT_URL = re.compile(r"""[^!-~]|[<>"`{|}]|\Z""")
_BRACKET = re.compile(r"[()\[\]]")
_BACKTICKS = re.compile(r"`+")
# By `regex`, for `re` has broken possessive groups in early releases of Python 3.11.
_TAG = regex.compile(
    r"</[a-z][a-z0-9-]*+\s*+>"
    r"""|<[a-z][a-z0-9-]*+(?:\s++[a-z_:][\w.:-]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`]++))?+)*+\s*+/?>"""
    r"|<[a-z][a-z0-9+.-]{1,31}:[^\s<>]*+>",
    regex.IGNORECASE | regex.ASCII,
)
_DOLLAR_CLOSER = re.compile(r"(?<![\s\\$])\$(?![\d$])")
_WORD = re.compile(r"[A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class _Opener:
    """An opening bracket, and how many markers there were before it."""

    is_image: bool
    markers_before: int


class InlineScanner:
    """One pass over a block; each handler takes the position of its character and returns where to go on."""

    def __init__(self, text: str, base: int) -> None:
        self._text = text
        self._base = base
        self._markers: list[Marker] = []
        self._openers: list[_Opener] = []
        self._plain_bracket_end = -1
        self._absent: set[str] = set()
        self._runs = _backtick_runs(text)
        # Looking for single characters alone is ten times as fast, and few blocks hold a URL.
        self._token = _SIGN_OR_URL if "://" in text or "www." in text.lower() else _SIGN
        self._handlers = {
            "\\": self._backslash,
            "`": self._backticks,
            "$": self._dollar,
            "<": self._angle,
            "[": self._open_bracket,
            "]": self._close_bracket,
            "【": self._wide_bracket,
            "［": self._wide_bracket,
        }

    def scan(self) -> list[Marker]:
        """The block's markers in order, their offsets moved by the block's own."""
        position = 0
        while token := self._token.search(self._text, position):
            position = self._handlers.get(token[0], self._url)(token.start())
        return self._markers

    def _backslash(self, position: int) -> int:
        closer = {"(": r"\)", "[": r"\]"}.get(self._text[position + 1 : position + 2])
        end = self._after(closer, position + 2) if closer else None
        return end or position + 2

    def _backticks(self, position: int) -> int:
        """Past the code span that opens here; past the run of backticks when none of its length follows."""
        end = position
        while self._text.startswith("`", end):
            end += 1
        closers = self._runs[end - position]
        following = bisect_left(closers, end)
        return closers[following] + end - position if following < len(closers) else end

    def _dollar(self, position: int) -> int:
        if self._text.startswith("$$", position):
            return self._after("$$", position + 2) or position + 2
        if self._text[position + 1 : position + 2].strip() and "$" not in self._absent:
            closer = _DOLLAR_CLOSER.search(self._text, position + 2)
            if closer:
                return closer.end()
            self._absent.add("$")
        return position + 1

    def _angle(self, position: int) -> int:
        if self._text.startswith("<!--", position):
            return self._after("-->", position + 4) or position + 4
        tag = _TAG.match(self._text, position)
        return tag.end() if tag else position + 1

    def _url(self, position: int) -> int:
        """Past a bare URL: printable ASCII up to a bracket that closes something before the URL."""
        past = _NOT_URL.search(self._text, position)
        end = past.start() if past else len(self._text)
        depth = 0
        for bracket in _BRACKET.finditer(self._text, position, end):
            depth += 1 if bracket[0] in "([" else -1
            if depth < 0:
                return bracket.start()
        return end

    def _wide_bracket(self, position: int) -> int:
        marker = marker_at(self._text, position, self._base)
        return self._accept(marker) if marker else position + 1

    def _open_bracket(self, position: int) -> int:
        definition = definition_end(self._text, position)
        if definition:
            return definition
        marker = marker_at(self._text, position, self._base)
        if marker:
            return self._bracketed_number(marker, position)
        is_image = self._text[position - 1 : position] == "!"
        self._openers.append(_Opener(is_image, len(self._markers)))
        return position + 1

    def _bracketed_number(self, marker: Marker, position: int) -> int:
        end = marker.end - self._base
        link = link_end(self._text, end)
        if link:
            self._openers.clear()
            return link
        label = None if marker_at(self._text, end) else label_end(self._text, end)
        if label or self._is_glued(position):
            self._plain_bracket_end = label or end
            return self._plain_bracket_end
        return self._accept(marker)

    def _is_glued(self, position: int) -> bool:
        """Whether a bracket follows a word or another bracket that is no marker: an index or a reference."""
        return position == self._plain_bracket_end or bool(position and _WORD.match(self._text, position - 1))

    def _accept(self, marker: Marker) -> int:
        self._markers.append(marker)
        return marker.end - self._base

    def _close_bracket(self, position: int) -> int:
        opener = self._openers.pop() if self._openers else None
        end = link_end(self._text, position + 1) if opener else None
        if not opener or not end:
            self._plain_bracket_end = position + 1
            return position + 1
        del self._markers[opener.markers_before :]
        if not opener.is_image:
            self._openers.clear()  # links do not nest
        return end

    def _after(self, closer: str, position: int) -> int | None:
        """Where the next `closer` ends. One that was missing once is missing for good: positions only grow."""
        found = -1 if closer in self._absent else self._text.find(closer, position)
        if found < 0:
            self._absent.add(closer)
            return None
        return found + len(closer)


def _backtick_runs(text: str) -> defaultdict[int, list[int]]:
    """Length of a run of backticks → where such runs start, ascending."""
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for run in _BACKTICKS.finditer(text):
        runs[len(run[0])].append(run.start())
    return runs
