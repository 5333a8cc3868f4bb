"""What is kept of a summary or a title that a model wrote: one line of bounded width, and nothing that acts."""

import re
from itertools import accumulate
from typing import Final
from unicodedata import east_asian_width

from citewire.text.normalise import clean
from retriever.ingest.titles import MAX_TITLE, one_line, own_title

# Columns of one summary: two long sentences. A wide character, which says as much as two others, takes two.
MAX_SUMMARY: Final = 240
# Only so much of what a model wrote is looked at.
_MOST_READ: Final = 4_000
# A cut goes back to the last blank if that is not farther than this.
_LONGEST_WORD: Final = 30

_NUMBERS: Final = r"\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*"
# Numbers of sources, as answers have them: `[1]`, `[^2]`, `[1, 3]`, `【4†source】`.
_MARKER: Final = re.compile(rf"\s*(?:\[\^?\s*{_NUMBERS}\s*\]|[【［]\s*{_NUMBERS}[^】］]{{0,40}}[】］])")
_CONTROL: Final = re.compile("[\x7f-\x9f\u200b\u200e\u200f\u2060\ufeff]")
_QUOTES: Final = "\"'“”„«»「」『』《》 "


def clean_summary(text: str) -> str:
    """A summary in one line of at most MAX_SUMMARY columns, without control characters and numbers of sources."""
    return shortened(_line(text), MAX_SUMMARY)


def clean_title(text: str) -> str:
    """A title in the same way, of at most MAX_TITLE characters; empty for what is no title."""
    return own_title(_line(text).strip(_QUOTES))[:MAX_TITLE].rstrip()


def width(text: str) -> int:
    """Columns that a text takes in a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def shortened(text: str, most: int) -> str:
    """A text of at most so many columns, cut after a word if there is a blank not far before."""
    if width(text) <= most:
        return text
    ends = accumulate(map(_columns, text), initial=1)  # of the ellipsis
    position = next(index for index, columns in enumerate(ends) if columns > most) - 1
    blank = text.rfind(" ", max(0, position - _LONGEST_WORD), position + 1)
    return text[: position if blank < 0 else blank].rstrip() + "…"


def _line(text: str) -> str:
    return one_line(_MARKER.sub("", _CONTROL.sub("", clean(text[:_MOST_READ]))))


def _columns(character: str) -> int:
    return 2 if east_asian_width(character) in "WF" else 1
