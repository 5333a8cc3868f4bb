"""Presentations: each visible slide is a page."""

import io

import pptx
from PIL import Image
from pptx.presentation import Presentation
from pptx.util import Inches

from retriever.ingest.document import ParsedDocument
from retriever.ingest.parsers import parse
from retriever.reading import read_file
from sample_files import saved, slides_file


def parsed(presentation: Presentation) -> ParsedDocument:
    return parse("a.pptx", saved(presentation))


def texts(document: ParsedDocument) -> dict[int, str]:
    return {page.number: document.text[page.start : page.end] for page in document.pages}


def test_d02_a_slide_is_a_page_counted_from_one_and_its_title_the_section() -> None:
    document = parse("a.pptx", slides_file())

    assert texts(document) == {1: "Welcome\n\nNine to five.", 2: "Tickets\n\nTen francs."}
    assert [section.path for section in document.sections] == [("Welcome",), ("Tickets",)]
    assert (document.title, document.document_type) == ("Welcome", "pptx")


def test_a_slide_is_one_chunk_where_it_fits() -> None:
    version = read_file("a.pptx", slides_file([("Title", "\n".join(["A line of words."] * 20))] * 3))

    assert [chunk.pages[0].number for chunk in version.chunks] == [1, 2, 3]


def test_notes_are_marked_as_such_at_the_slide_s_end() -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Welcome"
    slide.notes_slide.notes_text_frame.text = "Say hello."

    assert texts(parsed(presentation)) == {1: "Welcome\n\nNotes: Say hello."}


def test_h07_a_hidden_slide_is_left_out_and_the_others_keep_their_numbers() -> None:
    presentation = pptx.Presentation()
    for title in ("One", "Two", "Three"):
        presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = title
    presentation.slides[1]._element.set("show", "0")

    assert texts(parsed(presentation)) == {1: "One", 3: "Three"}
    assert parsed(presentation).notes == ("hidden slide left out: 2",)


def test_h07_hidden_shapes_and_those_beside_the_slide_are_left_out() -> None:
    presentation = pptx.Presentation()
    shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
    for text, left in (("Seen.", 1), ("secret", 1), ("secret", 50)):
        shapes.add_textbox(Inches(left), Inches(1), Inches(1), Inches(1)).text_frame.text = text
    shapes[1]._element._nvXxPr.cNvPr.set("hidden", "1")

    assert texts(parsed(presentation)) == {1: "Seen."}
    assert parsed(presentation).notes == ("hidden text left out: 2 places",)


def test_tables_and_groups_are_read() -> None:
    presentation = pptx.Presentation()
    shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
    table = shapes.add_table(2, 2, 0, 0, Inches(2), Inches(1)).table
    for index, text in enumerate(["Kind", "Price", "Adult", "10"]):
        table.cell(index // 2, index % 2).text = text
    group = shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "Grouped."

    assert texts(parsed(presentation)) == {1: "Kind | Price\nAdult | 10\n\nGrouped."}


def test_a_slide_of_images_is_a_page_without_text_and_noted() -> None:
    presentation = pptx.Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = "One"
    picture = io.BytesIO()
    Image.new("L", (1, 1)).save(picture, "PNG")
    shape = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes.add_picture(picture, 0, 0)
    shape._element._nvXxPr.cNvPr.set("descr", "picture.png")

    assert texts(parsed(presentation)) == {1: "One", 2: ""}
    assert parsed(presentation).notes == ("page 2: images without text",)
