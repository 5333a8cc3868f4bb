"""PowerPoint presentations by python-pptx: each visible slide is a page."""

import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pptx import Presentation
from pptx.exc import PythonPptxError
from pptx.oxml import parse_xml
from pptx.oxml.ns import qn
from pptx.shapes.autoshape import Shape
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape
from pptx.shapes.picture import Picture
from pptx.slide import Slide
from pptx.text.text import TextFrame

from citewire.text.normalise import clean
from retriever.ingest.document import ParsedDocument, UnreadableDocument
from retriever.ingest.limits import MAX_PAGES
from retriever.ingest.notes import Losses
from retriever.ingest.office import alternative, broken_is_unreadable, is_on
from retriever.ingest.rows import CELL_BORDER
from retriever.ingest.titles import one_line, own_title, title_from
from retriever.ingest.writer import DocumentWriter

_NOTES: Final = "Notes: "

_DIAGRAM: Final = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_DATA: Final = qn("r:dm")

Block = tuple[str, str, int | None]
# Width and height of a slide in the library's units.
Size = tuple[int, int]


def parse_slides(file_name: str, data: bytes) -> ParsedDocument:
    """A page for each visible slide under its number in the file, its title as the section, its notes at the end.

    The title is that of the first slide, else the file's own. Raises UnreadableDocument.
    """
    writer = DocumentWriter()
    with broken_is_unreadable("PowerPoint presentation", PythonPptxError):
        presentation = Presentation(io.BytesIO(data))
        size = (presentation.slide_width or 0, presentation.slide_height or 0)
        if len(presentation.slides) > MAX_PAGES:
            raise UnreadableDocument(f"has {len(presentation.slides):,} slides; at most {MAX_PAGES:,} are read")
        for number, slide in enumerate(presentation.slides, start=1):
            if is_on(slide._element.get("show", "1")):  # noqa: SLF001 - has no other name
                _write_slide(writer, number, slide, size)
            else:
                writer.losses.others.append(f"hidden slide left out: {number}")
        own = own_title(presentation.core_properties.title)
    cover = next((heading.words for heading in writer.headings if heading.start == 0), "")
    title = cover or own or title_from(writer.text, file_name)
    return writer.document(title, "pptx")


def _write_slide(writer: DocumentWriter, number: int, slide: Slide, size: Size) -> None:
    losses = Losses()
    blocks = list(_blocks(slide, size, losses))
    notes = _frame_text(slide.notes_slide.notes_text_frame) if slide.has_notes_slide else ""
    if notes:
        blocks.append((_NOTES + notes, "\n\n", None))
    writer.add_page(number, blocks)
    writer.losses.hidden += losses.hidden
    if blocks:
        writer.losses.images += losses.images
    elif losses.images:
        writer.losses.image_pages.append(number)


def _blocks(slide: Slide, size: Size, losses: Losses) -> Iterator[Block]:
    """The title first, wherever it stands on the slide; then the shapes from back to front."""
    title = slide.shapes.title
    if title is not None and title.has_text_frame and (words := _frame_text(title.text_frame)):
        yield words, "", 1
    for shape in _shapes(slide.shapes, losses):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        text = _text(shape, losses)
        if text and _is_off(shape, size):
            losses.hidden += 1
        elif text:
            yield text, "\n\n", None


def _shapes(shapes: Iterable[BaseShape], losses: Losses) -> Iterator[BaseShape]:
    """The visible shapes, those of groups as well."""
    for shape in shapes:
        if is_on(_properties(shape).get("hidden", "0")):
            losses.hidden += 1
        elif isinstance(shape, GroupShape):
            yield from _shapes(shape.shapes, losses)
        else:
            yield shape


def _text(shape: BaseShape, losses: Losses) -> str:
    if isinstance(shape, Shape):
        return _frame_text(shape.text_frame)
    if isinstance(shape, GraphicFrame):
        return _graphic_text(shape)
    if isinstance(shape, Picture):
        described = alternative(_properties(shape).get("descr"))
        losses.images += not described
        return described
    return ""


def _graphic_text(shape: GraphicFrame) -> str:
    if shape.has_table:
        rows = ([one_line(clean(cell.text)) for cell in row.cells] for row in shape.table.rows)
        return "\n".join(CELL_BORDER.join(row).strip() for row in rows if any(row))
    if shape.has_chart and shape.chart.has_title:
        return _frame_text(shape.chart.chart_title.text_frame)
    return "\n".join(_diagram_texts(shape))


def _diagram_texts(shape: GraphicFrame) -> Iterator[str]:
    """The texts of a SmartArt diagram, which lie in a part of their own."""
    for mark in shape._element.iter(_DIAGRAM):  # noqa: SLF001 - the library does not know diagrams
        for paragraph in parse_xml(shape.part.related_part(mark.get(_DATA)).blob).iter(qn("a:p")):
            yield "".join(text.text or "" for text in paragraph.iter(qn("a:t")))


def _frame_text(frame: TextFrame | None) -> str:
    paragraphs = frame.paragraphs if frame is not None else ()
    lines = (clean(paragraph.text).strip() for paragraph in paragraphs)
    return "\n".join(line for line in lines if line)


def _properties(shape: BaseShape) -> Any:
    return shape._element._nvXxPr.cNvPr  # noqa: SLF001 - what is hidden and described has no other name


def _is_off(shape: BaseShape, size: Size) -> bool:
    """Whether a shape lies beside the slide; one in a group counts from the group's corner and is not told."""
    if isinstance(shape._parent, GroupShape) or None in {shape.left, shape.top, shape.width, shape.height}:  # noqa: SLF001
        return False
    is_left_or_above = shape.left + shape.width <= 0 or shape.top + shape.height <= 0
    return is_left_or_above or shape.left >= size[0] or shape.top >= size[1]
