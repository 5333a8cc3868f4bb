"""Keeps what a model thinks between tags out of what it says."""

import re
from typing import Final

_NAMES: Final = ("think", "thinking", "reasoning")
# Without ASCII, case folding would take the Kelvin sign for a k.
_TAG: Final = re.compile(rf"<(/?)({'|'.join(_NAMES)})>", re.IGNORECASE | re.ASCII)
_TAGS: Final = tuple(f"<{slash}{name}>" for slash in ("", "/") for name in _NAMES)
_LONGEST: Final = max(map(len, _TAGS))


class ReasoningFilter:
    """Takes `<think>…</think>` out of a text that comes in pieces; so `<thinking>` and `<reasoning>`, in any case.

    A block ends with the first closing tag of its own name, since reasoning may well speak of tags; one that is never
    closed goes on to the end. A closing tag without a block is dropped alone. The pieces joined are the same however
    the text was split; the time is linear.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""

    def feed(self, piece: str) -> str:
        """What can be said of the text with this piece; may be empty."""
        if not self._held and not self._closing and "<" not in piece:
            return piece
        text = self._held + piece
        shown, start = [], 0
        for tag in _TAG.finditer(text):
            if not self._closing:
                shown.append(text[start : tag.start()])
            start = tag.end()
            self._pass(tag)
        rest = text[start:]
        self._held = _tag_begun(rest)
        if not self._closing:
            shown.append(rest[: len(rest) - len(self._held)])
        return "".join(shown)

    def end(self) -> str:
        """What was held back because a tag might have begun with it, once no more pieces come."""
        held, self._held = self._held, ""
        return "" if self._closing else held

    def _pass(self, tag: re.Match[str]) -> None:
        """Take note of a tag: the one that is waited for ends a block, an opening one outside of a block begins one."""
        slash, name = tag.group(1), tag.group(2).lower()
        if self._closing:
            self._closing = "" if slash and name == self._closing else self._closing
        elif not slash:
            self._closing = name


def _tag_begun(text: str) -> str:
    """The end of a text that the next piece may make a tag of."""
    start = text.rfind("<", max(0, len(text) - _LONGEST + 1))
    begun = text[start:] if start >= 0 else ""
    return begun if begun and any(tag.startswith(begun.lower()) for tag in _TAGS) else ""
