"""The parts of a Markdown link that decide whether the brackets before them are one (CommonMark 0.31, 4.7 and 6.3)."""

import re

import regex

# The limit of the reference implementation; without one, nested openers cost quadratic time.
MAX_NESTING = 32

_TITLE = r"""(?:"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'|\((?:\\.|[^()\\])*+\))"""
_LINK_START = re.compile(r"\(\s*+")
# By `regex`, for `re` has broken possessive groups in early releases of Python 3.11.
_LINK_END = regex.compile(rf"(?:\s++{_TITLE})?\s*+\)", regex.DOTALL)
_ANGLE_DESTINATION = re.compile(r"<[^<>\n]*+>")
_DESTINATION_MARK = re.compile(r"\\.?|[()\s]", re.DOTALL)
_LABEL_CHARACTER = r"(?:\\.|[^\[\]\\])"
_LABEL = regex.compile(rf"\[(?!\^){_LABEL_CHARACTER}{{0,999}}+\](?!\()", regex.DOTALL)
_DEFINITION = regex.compile(
    rf"\[{_LABEL_CHARACTER}{{1,999}}+\]:[ \t\r]*+\n?[ \t]*+(?:<[^<>\n]*+>|[^\s<]\S*+)"
    rf"(?:[ \t]++{_TITLE})?[ \t\r]*+(?=\n|\Z)",
    regex.DOTALL,
)


def link_end(text: str, position: int) -> int | None:
    """Where `(destination "title")` at a position ends; None when what stands there closes no link."""
    start = _LINK_START.match(text, position)
    if start is None:
        return None
    destination = _destination_end(text, start.end())
    end = _LINK_END.match(text, destination)
    return end.end() if end else None


def _destination_end(text: str, position: int) -> int:
    angle = _ANGLE_DESTINATION.match(text, position)
    if angle:
        return angle.end()
    depth = 0
    for mark in _DESTINATION_MARK.finditer(text, position):
        if mark[0].isspace() or (mark[0] == ")" and depth == 0) or depth > MAX_NESTING:
            return mark.start()
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
    return len(text)


def label_end(text: str, position: int) -> int | None:
    """Where the label of a reference link (`[ref]` or `[]`) at a position ends; a footnote `[^1]` is none."""
    label = _LABEL.match(text, position)
    return label.end() if label else None


def definition_end(text: str, position: int) -> int | None:
    """Where the definition `[label]: destination "title"` that starts a line at a position ends, if there is one."""
    if not _starts_line(text, position):
        return None
    definition = _DEFINITION.match(text, position)
    return definition.end() if definition else None


def _starts_line(text: str, position: int) -> bool:
    while position and text[position - 1] in " \t":
        position -= 1
    return position == 0 or text[position - 1] == "\n"
