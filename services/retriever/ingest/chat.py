"""Chat logs: messages that begin a line with the `[nickname]` of who wrote them."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import regex

from retriever.ingest.document import ParsedDocument
from retriever.ingest.titles import file_title

# `[10:02] [bob] text`, `[bob]: text`, `[10:02] bob: text`; marks that only hold a time name nobody.
_TIME: Final = r"\[[\d\s:./,\-年月日时分秒TZ+]{1,40}(?:[AaPp]\.?[Mm]\.?)?\]"
_MESSAGE: Final = regex.compile(
    rf"\s*+(?:{_TIME}\s*+)?+(?:\[(?P<name>[^\[\]\n]{{1,40}}+)\](?!\()|(?<=\]\s*)(?P<bare>[^\[\]\n:：]{{1,40}}+)(?=[:：]))"
    r"[:：]?+[^\S\n]*+(?=\S)"
)
# What programs write in brackets before a line of a log of theirs.
_LEVEL: Final = regex.compile(
    r"trace|debug|info(?:rmation)?|notice|warn(?:ing)?|error|err|crit(?:ical)?|fatal|alert|emerg|ok|pass(?:ed)?|fail(?:ed)?"
    r"|x|(?=.*\d)[\d\s\W]+",
    regex.IGNORECASE,
)
_LEAST_MESSAGES: Final = 2
_LEAST_SHARE: Final = 0.6
# In a log longer than this somebody writes twice; in a list of references nobody does.
_ALL_ONCE: Final = 4


def is_chat(text: str) -> bool:
    """Whether most lines begin a message, and the names are those of people who write more than once."""
    lines = [line for line in text.split("\n") if line.strip()]
    names = [name for line in lines if (name := _name(line))]
    if len(names) < max(_LEAST_MESSAGES, _LEAST_SHARE * len(lines)):
        return False
    return len(names) <= _ALL_ONCE or max(Counter(names).values()) > 1


def chat_document(file_name: str, text: str) -> ParsedDocument:
    """A message on each line; one of several lines is set apart by empty lines, so that it is not cut between them."""
    messages = ["\n".join(lines) for lines in _messages(text)]
    parts = messages[:1]
    for before, message in pairwise(messages):
        parts += ["\n\n" if "\n" in before or "\n" in message else "\n", message]
    return ParsedDocument(file_title(file_name), "chat", "".join(parts))


def _messages(text: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        if lines and _name(line):
            yield lines
            lines = []
        lines.append(line.rstrip())
    if lines:
        yield lines


def _name(line: str) -> str:
    found = _MESSAGE.match(line)
    name = (found["name"] or found["bare"] or "").strip() if found else ""
    return "" if _LEVEL.fullmatch(name) else name
