"""Titles cut where a reader sees characters, not in the middle of one."""

import regex

TITLE_GRAPHEMES = 80

_GRAPHEME = regex.compile(r"\X")


def session_title(question: str) -> str:
    """The first 80 graphemes of a question, in one line."""
    line = " ".join(question.split())
    return "".join(match.group() for match, _ in zip(_GRAPHEME.finditer(line), range(TITLE_GRAPHEMES), strict=False))
