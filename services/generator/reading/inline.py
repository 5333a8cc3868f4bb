"""Reads an answer in the inline form: Markdown with markers, then a delimiter and a list of quotes."""

import re
from collections.abc import Callable

import regex

from citewire.text.normalise import StreamCleaner
from generator.reading.edges import EdgeTrimmer
from generator.reading.quotes import QuoteList
from generator.reading.tail import BROKEN_LIST, Tail

# No source can hold it: in a prompt each of their `<` is escaped.
DELIMITER = "<<<QUOTES>>>"

_LEAD = r"(?:(?<=\n)[ \t]{0,4}(?P<fence>`{3}\w{0,8}[ \t]{0,4}\n\s{0,4})?[*_#]{0,4}[ \t]{0,2})?"
_SIGN = r"<{1,4}[ \t]{0,2}/?(?:END[ \t_]{0,2})?QUOTES?[ \t]{0,2}>{0,4}[*_:]{0,4}"
_LIST_AHEAD = r"\s{0,16}(?:`{3}\w{0,8}\s{0,8})?(?=\[\s{0,16}[\[\]{\"]|\{\s{0,16}[\"}])"
# Every repetition is bounded, so what is held back is short.
_DELIMITER = regex.compile(_LEAD + _SIGN + _LIST_AHEAD, regex.IGNORECASE)
_BEGUN = re.compile(r"<<.{0,7}Q|<.{0,3}QUOTE", re.IGNORECASE)
_FENCE_LINE = re.compile(r"\s*```\w{0,8}[ \t]{0,4}\n")
_FENCES = re.compile(r"\n[ \t]{0,3}```")
_BETWEEN = " \t\r\n,"


class InlineReader:
    """Takes the model's text in pieces; gives back at once what can be shown.

    Held back are white space at the end and what may be the beginning of a delimiter, a hundred characters at most. A
    delimiter counts only before a list or at the very end, and what follows a list is text again: no text in an answer
    can hide the rest of it. The result does not depend on how the text is split.
    """

    def __init__(self) -> None:
        self._cleaner = StreamCleaner()
        self._edges = EdgeTrimmer()
        self._quotes = QuoteList()
        self._read: Callable[[str, list[str]], str] = self._in_text
        self._held = ""
        self._before = "\n"
        self._fences = 0

    def feed(self, piece: str) -> str:
        """The text that can be shown now; may be empty."""
        text, self._held = self._held + self._cleaner.feed(piece), ""
        shown: list[str] = []
        while text:
            text = self._read(text, shown)
        return self._edges.feed("".join(shown))

    @property
    def is_whole(self) -> bool:
        """Whether the text has ended: its quotes are being listed."""
        return self._quotes.is_open

    def end(self) -> Tail:
        """The rest, once no more pieces come. Call it once."""
        shown: list[str] = []
        if _BEGUN.search(self._held):
            fence = _FENCE_LINE.match(self._held)
            self._show_fence(fence[0] if fence else "", shown)
        else:
            shown.append(self._held)
        is_broken = self._quotes.is_broken or self._quotes.is_open
        return Tail(self._edges.feed("".join(shown)), tuple(self._quotes.claims), BROKEN_LIST if is_broken else None)

    def _in_text(self, text: str, shown: list[str]) -> str:
        """Shows text up to a delimiter; gives back the list that follows it."""
        known = self._before + text
        # Most pieces hold nothing that a delimiter could begin with.
        may_begin = "<" in text or "\n" in known
        found = _DELIMITER.search(known, 1, partial=True) if may_begin else None
        end = found.start() if found else len(known)
        self._show(known[:end], shown)
        if found is None:
            return ""
        if found.partial:
            self._held = known[end:]
            return ""
        self._show_fence(found["fence"] or "", shown)
        self._read = self._in_list
        return known[found.end() :]

    def _in_list(self, text: str, shown: list[str]) -> str:
        """Shows nothing; gives back what follows the list."""
        del shown
        size = self._quotes.feed(text)
        if not self._quotes.is_open:
            self._read = self._after_list
        return text[size:]

    def _after_list(self, text: str, shown: list[str]) -> str:
        """What follows a list: one more object, the end of its fence, or text."""
        body = text.lstrip(_BETWEEN)
        shown.append(text[: len(text) - len(body)].replace(",", ""))
        if body in {"", "`", "``"}:
            self._held = body
            return ""
        self._before = "\n"
        self._read = self._in_list if body.startswith("{") else self._in_text
        return body.removeprefix("```")

    def _show(self, known: str, shown: list[str]) -> None:
        """Shows text, given with the character before it."""
        if "```" in known:
            self._fences += len(_FENCES.findall(known))
        shown.append(known[1:])
        self._before = known[-1]

    def _show_fence(self, fence: str, shown: list[str]) -> None:
        """Shows the line of a fence before a delimiter if it closes the answer's own code."""
        if self._fences % 2:
            self._fences += 1
            shown.append(fence)
