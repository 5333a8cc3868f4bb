"""HTML: what a reader would see, block by block; scripts and hidden parts are not there."""

import re
from itertools import chain, pairwise
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from citewire.text.normalise import clean
from retriever.ingest.decoding import decode_text
from retriever.ingest.document import ParsedDocument
from retriever.ingest.html_hidden import HiddenParts, check_depth, hidden_parts
from retriever.ingest.titles import one_line, title_from
from retriever.ingest.writer import DocumentWriter

# fmt: off
_DROPPED: Final = frozenset({
    "script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "math", "head", "select",
    "datalist", "textarea", "audio", "video", "canvas",
})
_BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr",
    "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "search", "section", "summary", "table", "tbody",
    "tfoot", "thead", "tr", "ul",
})
# fmt: on
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_CELLS: Final = frozenset({"td", "th"})
_ROWS: Final = frozenset({"li", "tr", "dt", "dd"})
_OWN_LINES: Final = frozenset({*_ROWS, *_HEADINGS, "table", "ul", "ol", "dl"})
_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}charset=[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_CHARSET_WITHIN: Final = 4096

_CELL_BORDER: Final = " | "
_SPACE: Final = re.compile(r"[^\S\n]+")
_ANY_SPACE: Final = re.compile(r"\s+")


def parse_html(file_name: str, data: bytes) -> ParsedDocument:
    """The visible text; the title is the page's own, else its first heading. Raises UnreadableDocument.

    Of style sheets only the page's own ones count, and of these the simple rules that hide something.
    """
    declared = _CHARSET.search(data[:_CHARSET_WITHIN])
    html = decode_text(data, declared.group(1).decode() if declared else None)
    check_depth(html)
    tree = LexborHTMLParser(html)
    writer = DocumentWriter()
    if tree.body is not None:
        _Walker(writer, hidden_parts(tree)).walk(tree.body)
    title = _title(tree) or writer.first_heading or title_from(writer.text, file_name)
    return writer.document(title, "html")


def _title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("head > title")
    return one_line(clean(node.text())) if node is not None else ""


class _Walker:
    """Collects inline text until a block begins or ends, then writes it."""

    def __init__(self, writer: DocumentWriter, hidden: HiddenParts) -> None:
        self._writer = writer
        self._hidden = hidden
        self._inline: list[str] = []
        self._separator = "\n\n"
        self._cells = 0
        self._preformatted = 0
        self._is_first_cell = True

    def walk(self, root: LexborNode) -> None:
        """Write everything below a node, without recursion: pages nest deeper than Python does."""
        stack: list[tuple[LexborNode, bool]] = [(root, False)]
        while stack:
            node, is_left = stack.pop()
            tag = node.tag or ""
            if is_left:
                self._leave(tag)
            elif tag == "-text":
                self._write(node.text_content or "")
            elif tag in _DROPPED or tag[:1] == "-":
                continue
            elif self._hidden.hide(node):
                self._writer.losses.hidden += bool(node.text().strip())
            elif tag == "img":
                self._write_image(node)
            else:
                self._enter(tag)
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(list(node.iter(include_text=True))))
        self._break()

    def _write(self, text: str) -> None:
        self._inline.append(text if self._preformatted else _ANY_SPACE.sub(" ", text))

    def _write_image(self, node: LexborNode) -> None:
        """Its text; one that is there but empty marks an ornament."""
        described = node.attributes.get("alt")
        self._write(f" {described} " if described else "")
        self._writer.losses.images += described is None

    def _enter(self, tag: str) -> None:
        if tag in _CELLS:
            self._inline.append("" if self._is_first_cell else _CELL_BORDER)
            self._is_first_cell = False
            self._cells += 1
        elif tag in _BLOCKS:
            self._border(tag)
        if tag == "tr":
            self._is_first_cell = True
        if tag == "pre":
            self._preformatted += 1
        if tag == "br":
            self._inline.append("\n")

    def _leave(self, tag: str) -> None:
        if tag in _CELLS:
            self._cells -= 1
        elif tag in _HEADINGS:
            self._break(_HEADINGS[tag])
        elif tag in _BLOCKS:
            self._border(tag)
        if tag == "pre":
            self._preformatted -= 1

    def _border(self, tag: str) -> None:
        """Where a block begins or ends; a paragraph in a table's cell does not end the row."""
        if self._cells and tag not in _OWN_LINES:
            self._inline.append("\n")
            return
        self._break()
        self._separator = "\n" if tag in _ROWS else "\n\n"

    def _break(self, level: int | None = None) -> None:
        """Write what was collected as a block, set apart from the one before as that one's end asks for."""
        raw, self._inline = "".join(self._inline), []
        lines = (_SPACE.sub(" ", line).strip() for line in clean(raw).split("\n"))
        text = _join_cells([line for line in lines if line])
        if text:
            self._writer.add(text, self._separator, level)
            self._separator = "\n\n"


def _join_cells(lines: list[str]) -> str:
    """The lines of a block; where a paragraph ends beside a cell's border, the row goes on."""
    seams = (" " if "|" in (before[-1], after[0]) else "\n" for before, after in pairwise(lines))
    return "".join(chain.from_iterable(zip(["", *seams], lines, strict=False)))
