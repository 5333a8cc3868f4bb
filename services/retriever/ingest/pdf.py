"""PDF by PDFium: the text of each physical page, with the printed labels when the file has them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from threading import Lock
from typing import Final

import pypdfium2 as pdfium  # type: ignore[import-untyped] # has no annotations
import pypdfium2.raw as pdfium_c  # type: ignore[import-untyped] # has no annotations

from citewire.text.normalise import clean
from retriever.ingest.document import Page, ParsedDocument, UnreadableDocument
from retriever.ingest.headings import Heading, nest_headings
from retriever.ingest.limits import MAX_CHARACTERS, MAX_PAGES
from retriever.ingest.lines import HYPHEN, drop_page_numbers, join_lines
from retriever.ingest.notes import Losses
from retriever.ingest.pdf_hidden import hide_unseen, look_at
from retriever.ingest.titles import one_line, own_title, title_from

PAGE_SEPARATOR: Final = "\n\n"
_MAX_BOOKMARKS: Final = 10_000

# PDFium is not thread-safe.
_PDFIUM: Final = Lock()
_LOCKED: Final = frozenset({pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY})

# PDFium gives a hyphen at a line's end so, mostly without the line break; a soft hyphen elsewhere is invisible.
_HYPHEN: Final = re.compile("[\u0002\ufffe]\n?")
# The dots that lead to the number in a list of contents.
_LEADERS: Final = re.compile(r"(?:[^\S\n]?\.){5,}[^\S\n]*")
# An outline mostly leaves out the number that a heading has on the page, and PDFium may give it its own line.
_NUMBERING: Final = r"(?:[\dA-Z][\d.]{0,8}\s)?"
_INVISIBLE_HYPHEN: Final = re.compile(f"{HYPHEN}(?!\n)")


@dataclass(frozen=True)
class _Bookmark:
    """An entry of the outline: its depth from 1, and the index of the page it leads to."""

    level: int
    words: str
    page: int


@dataclass(frozen=True)
class _Contents:
    """What is taken out of the file; texts and labels page by page."""

    title: str
    texts: list[str]
    labels: list[str]
    outline: list[_Bookmark]
    losses: Losses


def parse_pdf(file_name: str, data: bytes) -> ParsedDocument:
    """Text page by page; what the outline lists are the sections.

    The title is the file's own, else the outline's one top entry, else the first line. Annotations, what lies off
    the page and what nobody sees on it are not read. Raises UnreadableDocument for what is encrypted, broken or
    too large.
    """
    with _PDFIUM:
        document = _open(data)
        try:
            contents = _read(document)
        finally:
            document.close()
    texts = [join_lines(page) for page in drop_page_numbers(contents.texts, contents.labels)]
    pages, text = _join(texts, contents.labels)
    title = contents.title or _top_entry(contents.outline) or title_from(text, file_name)
    headings = list(_headings(contents.outline, pages, text))
    sections = nest_headings(headings, len(text))
    return ParsedDocument(title, "pdf", text, pages, sections, notes=contents.losses.notes())


def _open(data: bytes) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        reason = "is encrypted" if error.err_code in _LOCKED else "is a broken PDF"
        raise UnreadableDocument(reason) from error


def _read(document: pdfium.PdfDocument) -> _Contents:
    losses = Losses()
    texts = _texts(document, losses)
    labels = [_words(partial(document.get_page_label, index)) for index in range(len(texts))]
    title = own_title(_words(partial(document.get_metadata_value, "Title")))
    return _Contents(title, texts, labels, _outline(document), losses)


def _texts(document: pdfium.PdfDocument, losses: Losses) -> list[str]:
    if len(document) > MAX_PAGES:
        raise UnreadableDocument(f"has {len(document):,} pages; at most {MAX_PAGES:,} are read")
    texts: list[str] = []
    total = 0
    for number in range(1, len(document) + 1):
        texts.append(_page_text(document, number, losses))
        total += len(texts[-1])
        if total > MAX_CHARACTERS:
            raise UnreadableDocument(f"has more than {MAX_CHARACTERS:,} characters of text")
    return texts


def _page_text(document: pdfium.PdfDocument, number: int, losses: Losses) -> str:
    try:
        page = document[number - 1]
        raw = _seen_text(page, number, losses)
        page.close()
    except pdfium.PdfiumError as error:
        raise UnreadableDocument(f"page {number} is broken") from error
    text = _INVISIBLE_HYPHEN.sub("", raw.replace("\r\n", "\n"))
    return clean(_LEADERS.sub(" … ", _HYPHEN.sub(f"{HYPHEN}\n", text)))


def _seen_text(page: pdfium.PdfPage, number: int, losses: Losses) -> str:
    objects = look_at(page)
    losses.hidden += hide_unseen(page, objects)
    text_page = page.get_textpage()
    text: str = text_page.get_text_bounded()
    # What lies off the page.
    losses.hidden += _ink(text) < _ink(text_page.get_text_range())
    text_page.close()
    if objects.images and not text.strip():
        losses.image_pages.append(number)
    return text


def _ink(text: str) -> int:
    return sum(map(len, text.split()))


def _outline(document: pdfium.PdfDocument) -> list[_Bookmark]:
    bookmarks: list[_Bookmark] = []
    for entry in islice(document.get_toc(), _MAX_BOOKMARKS):
        target = entry.get_dest()
        page = target.get_index() if target is not None else None
        if page is not None and 0 <= page < len(document):
            bookmarks.append(_Bookmark(entry.level + 1, _words(entry.get_title), page))
    return bookmarks


def _words(read: Callable[[], str]) -> str:
    """A short text of the file in one line; empty if it is not the UTF-16 that it should be."""
    try:
        return one_line(clean(read()))
    except UnicodeDecodeError:
        return ""


def _top_entry(outline: Sequence[_Bookmark]) -> str:
    top = [bookmark.words for bookmark in outline if bookmark.level == 1]
    return top[0] if len(top) == 1 else ""


def _headings(outline: Sequence[_Bookmark], pages: Sequence[Page], text: str) -> Iterator[Heading]:
    """Where each entry's words are a line of its page, else the page's start; never before the entry above it."""
    latest = 0
    for bookmark in outline:
        page = pages[bookmark.page]
        line = re.compile(rf"^{_NUMBERING}{re.escape(bookmark.words)}$", re.MULTILINE)
        found = line.search(text, max(page.start, latest), page.end)
        latest = found.start() if found else max(latest, page.start)
        yield Heading(latest, found.end() if found else latest, bookmark.level, bookmark.words)


def _join(texts: Sequence[str], labels: Sequence[str]) -> tuple[tuple[Page, ...], str]:
    pages: list[Page] = []
    start = 0
    for number, (text, label) in enumerate(zip(texts, labels, strict=True), start=1):
        end = start + len(text)
        pages.append(Page(number, label or None, start, end))
        start = end + len(PAGE_SEPARATOR)
    return tuple(pages), PAGE_SEPARATOR.join(texts)
