"""Where a text may be cut, from the best border to the last resort; each gives the parts of a span."""

from collections.abc import Callable, Iterator
from typing import Final

import regex

from citewire.text.sentences import split_sentences

Span = tuple[int, int]
Cut = Callable[[str, int, int], Iterator[Span]]

_PARAGRAPH: Final = regex.compile(r"\n[^\S\n]*\n\s*+")
_LINE: Final = regex.compile(r"\n")
_CELL: Final = regex.compile(r"(?<=\s\|)\s")
_CLAUSE: Final = regex.compile(r"(?<=[，；、：])|(?<=[,;:)])(?=\s)")
_BLANK: Final = regex.compile(r"\s++")
# What a reader sees as characters, a few at a time.
_GRAPHEMES: Final = regex.compile(r"\X{1,16}+")
_STRIDE: Final = 16
# A list's mark by itself, a heading, or what announces a list.
_LEAD: Final = regex.compile(r"[-*+•·▪●◦]|\(?\d{1,3}[.)、]|(?![-*+•·▪●|])[^\n]{1,80}(?<![.!?;…。！？；,，、|])")


def paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    """Parts with an empty line between them."""
    return _between(_PARAGRAPH, text, start, end)


def lines(text: str, start: int, end: int) -> Iterator[Span]:
    """Lines."""
    return _between(_LINE, text, start, end)


def cells(text: str, start: int, end: int) -> Iterator[Span]:
    """Cells of a table's row, each with the border behind it."""
    return _between(_CELL, text, start, end)


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Sentences, each with what stands before it."""
    last = start
    for _, stop in split_sentences(text[start:end])[:-1]:
        yield last, start + stop
        last = start + stop
    yield last, end


def clauses(text: str, start: int, end: int) -> Iterator[Span]:
    """Clauses, each with the sign that ends it."""
    return _between(_CLAUSE, text, start, end)


def words(text: str, start: int, end: int) -> Iterator[Span]:
    """Words between white space."""
    return _between(_BLANK, text, start, end)


def graphemes(text: str, start: int, end: int) -> Iterator[Span]:
    """A few characters at a time, none of them torn apart."""
    return (match.span() for match in _GRAPHEMES.finditer(text, start, end))


def code_points(text: str, start: int, end: int) -> Iterator[Span]:
    """A few code points at a time: a character can be made longer than any limit."""
    del text
    return ((at, min(at + _STRIDE, end)) for at in range(start, end, _STRIDE))


# Best first. The text's own pages and sections come before them.
CUTS: Final[tuple[Cut, ...]] = (paragraphs, lines, cells, sentences, clauses, words, graphemes, code_points)


def _between(border: regex.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    last = start
    for match in border.finditer(text, start, end):
        yield last, match.start()
        last = match.end()
    yield last, end


def trim(text: str, start: int, end: int) -> Span:
    """The span without white space at both ends; empty at its end if there is nothing else."""
    if start < end and not text[start].isspace() and not text[end - 1].isspace():
        return start, end
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())


def leads(text: str, start: int, end: int) -> bool:
    """Whether the span is a whole line that says little without the next, such as a heading."""
    is_line = text[end : end + 1] == "\n" and text[start - 1 : start] in {"", "\n"}
    return is_line and _LEAD.fullmatch(text, start, end) is not None
