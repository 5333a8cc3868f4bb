"""Markdown: the source is the stored text, its headings are the sections."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from retriever.ingest.decoding import decode_text
from retriever.ingest.document import ParsedDocument
from retriever.ingest.headings import Heading, nest_headings
from retriever.ingest.notes import Losses
from retriever.ingest.titles import one_line, title_from

_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n(?:(.*?)\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE: Final = re.compile(r"^title[ \t]*:[ \t]*(\S.*)$", re.MULTILINE)
_BARE_IMAGE: Final = re.compile(r"!\[[^\S\n]*\][(\[]")
_BREAKS: Final = frozenset({"softbreak", "hardbreak"})
_CODE: Final = frozenset({"fence", "code_block"})
# Characters before a comment in which a backtick may open inline code around it.
_INLINE_REACH: Final = 200

# Characters of a heading that are looked at.
_LONGEST_HEADING: Final = 1000

_PARSER: Final = MarkdownIt("commonmark")
# Blocks say where the headings are; the markup within a long text is left alone.
_BLOCKS: Final = MarkdownIt("commonmark").disable(["normalize", "inline", "text_join"])


def parse_markdown(file_name: str, data: bytes) -> ParsedDocument:
    """Text without front matter and comments; the title is the front matter's, else the first heading.

    Raises UnreadableDocument.
    """
    text, title = _without_front_matter(decode_text(data))
    losses = Losses()
    text = _without_comments(text, losses)
    headings = _headings(text)
    first = next((heading.words for heading in headings if heading.words), "")
    losses.images = len(_BARE_IMAGE.findall(text))
    title = title or first or title_from(text, file_name)
    return ParsedDocument(title, "md", text, sections=nest_headings(headings, len(text)), notes=losses.notes())


def _without_front_matter(text: str) -> tuple[str, str]:
    match = _FRONT_MATTER.match(text)
    if match is None:
        return text, ""
    title = _FRONT_TITLE.search(match.group(1) or "")
    return text[match.end() :], one_line(title.group(1)).strip("\"' ") if title else ""


def _without_comments(text: str, losses: Losses) -> str:
    """No reader sees a comment, so no answer may rest on it; in code it is an example and stays."""
    if "<!--" not in text:
        return text
    kept: list[str] = []
    position = 0
    for start, end in _comments(text):
        kept.append(text[position:start])
        position = end
        losses.comments += 1
    return "".join([*kept, text[position:]])


def _comments(text: str) -> Iterator[tuple[int, int]]:
    codes = _code_blocks(text)
    code = next(codes, None)
    end = 0
    while (start := text.find("<!--", end)) >= 0 and (close := text.find("-->", start + 4)) >= 0:
        while code is not None and code[1] <= start:
            code = next(codes, None)
        if code is not None and code[0] <= start:
            end = code[1]
        elif _is_inline_code(text, start):
            end = start + 4
        else:
            end = close + 3
            yield start, end


def _is_inline_code(text: str, offset: int) -> bool:
    line = text[max(0, offset - _INLINE_REACH) : offset].rpartition("\n")[2]
    return line.count("`") % 2 == 1


def _code_blocks(text: str) -> Iterator[tuple[int, int]]:
    starts = [*_line_starts(text), len(text)]
    for token in _BLOCKS.parse(text):
        if token.type in _CODE and token.map is not None:
            yield starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)]


def _headings(text: str) -> list[Heading]:
    """The headings that stand by themselves; what looks like one in code, a quote or a list is none."""
    starts = [*_line_starts(text), len(text)]
    return [
        Heading(starts[token.map[0]], starts[token.map[1]], int(token.tag[1]), _words(inline.content))
        for token, inline in pairwise(_BLOCKS.parse(text))
        if token.type == "heading_open" and token.level == 0 and token.map is not None
    ]


def _line_starts(text: str) -> Sequence[int]:
    # Lines as CommonMark counts them: str.splitlines would also cut at U+2028.
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _words(content: str) -> str:
    """A heading's text without its markup."""
    return one_line("".join(_texts(_PARSER.parseInline(content[:_LONGEST_HEADING]))))


def _texts(tokens: Sequence[Token]) -> Iterator[str]:
    for inline in tokens:
        for child in inline.children or ():
            if child.type in _BREAKS:
                yield " "
            elif child.type != "html_inline":
                yield child.content
