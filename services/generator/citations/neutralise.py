"""Makes the markers of a document's own text harmless, so that none is taken for one of our source numbers.

`[2]` becomes `(2)`, `【2】` and `［2］` become `（2）`: what a reader understands stays, what a parser looks for goes.
"""

import re

from generator.citations.markers import find_markers
from generator.citations.shapes import ASCII_MARKER, WIDE_MARKER

_PARENTHESES = str.maketrans("[]【】［］", "()（）（）")
_LINE_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_MARKER_SHAPE = re.compile(f"{WIDE_MARKER}|(?<![A-Za-z0-9_\\]])(?:{ASCII_MARKER})+")
_PUNCTUATION = r"!-/:-@\[-`{-~"
_OPENS_SOMETHING = re.compile(
    rf"\\(?=[{_PUNCTUATION}])"  # an escape of the source, to be shown and not to act
    r"|`"  # code
    r"|\](?=\(|:)"  # a link or a definition
    r"|<(?=[A-Za-z/!?])"  # a tag or an autolink
    r"|^(?:[>#|=]|[-+*](?=\s|$)|~(?=~~)|[-*_](?=[-*_\s]*$))"  # a block
)
_ORDERED_ITEM = re.compile(r"^([0-9]{1,9})(?=[.)](?:\s|$))")


def neutralise_markers(text: str) -> str:
    """The text with each of its markers in parentheses; code, links, `[2024]` and `arr[7]` stay. Idempotent.

    For prompts and extractive answers only: never for text whose offsets are cited.
    """
    pieces: list[str] = []
    position = 0
    for marker in find_markers(text):
        pieces += [text[position : marker.start], text[marker.start : marker.end].translate(_PARENTHESES)]
        position = marker.end
    return "".join([*pieces, text[position:]])


def quote_sentence(sentence: str) -> str:
    """One line of Markdown that shows a sentence as it is and lets a marker be put after it and a space.

    Line breaks become spaces, markers are neutralised, and a backslash goes before whatever could open code, math, a
    link, HTML or a block.
    """
    line = _LINE_BREAKS.sub(" ", sentence).strip()
    line = _MARKER_SHAPE.sub(lambda shape: shape[0].translate(_PARENTHESES), line)
    line = _OPENS_SOMETHING.sub(r"\\\g<0>", line)
    line = _ORDERED_ITEM.sub(r"\1\\", line)
    return line.replace("$", r"\$") if line.count("$") > 1 else line
