"""A document's title where the format names none, and what is kept of one."""

import re
from pathlib import PurePath
from typing import Final

MAX_TITLE: Final = 120

# What writers put there by themselves is no title.
_NO_TITLE: Final = re.compile(
    r"untitled(?: document)?\d*|无标题|document\d*|(?:powerpoint )?presentation\d*|powerpoint-präsentation"
    r"|powerpoint 演示文稿|(?:book|workbook)\d*|word document|\S+\.(?:docx?|pdf|pptx?|xlsx?|tex|indd)",
    re.IGNORECASE,
)
_WRITER: Final = re.compile(r"Microsoft (?:Word|PowerPoint|Excel) - ")
# In a line that is made of several texts, an order of writing that one of them opens would turn the others round.
_TURNING: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")


def title_from(text: str, file_name: str) -> str:
    """The first line with text if it is short enough for a title, else the file's name without its ending."""
    first = one_line(text.lstrip()[: MAX_TITLE + 1].partition("\n")[0])
    return first if 0 < len(first) <= MAX_TITLE else file_title(file_name)


def file_title(file_name: str) -> str:
    """The file's name without its ending."""
    return one_line(PurePath(file_name).stem)


def is_file_name(title: str, file_name: str) -> bool:
    """Whether a title says no more than the file's name does."""
    return one_line(title).casefold() in {"", one_line(file_name).casefold(), file_title(file_name).casefold()}


def own_title(words: str) -> str:
    """The title that a file gives itself in its properties, unless a program made it up."""
    title = _WRITER.sub("", one_line(words))
    return "" if _NO_TITLE.fullmatch(title) else title


def one_line(text: str) -> str:
    """A title or heading without line breaks, runs of white space and marks that turn the order of writing."""
    return " ".join(_TURNING.sub("", text).split())
