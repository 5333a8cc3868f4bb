"""A document's title where the format names none."""

from pathlib import PurePath
from typing import Final

MAX_TITLE: Final = 120


def title_from(text: str, file_name: str) -> str:
    """The first line with text if it is short enough for a title, else the file's name without its ending."""
    first = text.lstrip()[: MAX_TITLE + 1].partition("\n")[0].rstrip()
    return first if 0 < len(first) <= MAX_TITLE else PurePath(file_name).stem


def one_line(text: str) -> str:
    """A title or heading without line breaks and runs of white space."""
    return " ".join(text.split())
