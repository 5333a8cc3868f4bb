"""Word documents are read as they look once all changes are accepted."""

import io

import docx
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_BREAK
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml
from docx.shared import Pt, RGBColor
from PIL import Image

from cpu_time import cpu_seconds
from retriever.ingest.document import ParsedDocument
from retriever.ingest.parsers import parse
from sample_files import entry, saved, with_entry, word_file

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def parsed(document: Document) -> ParsedDocument:
    return parse("a.docx", saved(document))


def add_xml(document: Document, xml: str) -> None:
    """Add a block at the end of a document's body."""
    document.element.body.insert(-1, parse_xml(xml))


def picture() -> io.BytesIO:
    target = io.BytesIO()
    Image.new("L", (1, 1)).save(target, "PNG")
    target.seek(0)
    return target


def test_blocks_stand_in_their_order() -> None:
    document = parse("a.docx", word_file())

    assert document.text == (
        "Museum guide\n\nOpening hours\n\nThe museum opens at nine.\n\nTickets\n\n- At the desk\n- By mail\n\n"
        "Kind | Price\nAdult | 10"
    )
    assert (document.title, document.document_type) == ("Museum guide", "docx")


def test_d08_a_word_document_has_no_pages_whatever_its_page_breaks() -> None:
    document = docx.Document()
    document.add_paragraph("Before.").add_run().add_break(WD_BREAK.PAGE)
    document.add_paragraph("After.")

    assert parsed(document).pages == ()
    assert parsed(document).text == "Before.\n\nAfter."


def test_headings_are_nested_sections() -> None:
    document = docx.Document()
    for words, level in (("One", 1), ("One a", 2), ("Two", 1)):
        document.add_heading(words, level)
        document.add_paragraph("Text.")

    assert [section.path for section in parsed(document).sections] == [("One",), ("One", "One a"), ("Two",)]


def test_a_heading_is_one_in_a_style_of_another_name_and_language() -> None:
    document = docx.Document()
    style = document.styles.add_style("Kapitelkopf", WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = document.styles["Heading 2"]
    document.add_paragraph("Öffnungszeiten", style="Kapitelkopf")
    document.styles.add_style("标题 1", WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("开放时间", style="标题 1")

    assert [heading.path for heading in parsed(document).sections] == [("Öffnungszeiten",), ("开放时间",)]


def test_a_paragraph_with_an_outline_level_is_a_heading() -> None:
    document = docx.Document()
    level = OxmlElement("w:outlineLvl")
    level.set(qn("w:val"), "0")
    document.add_paragraph("Hours")._p.get_or_add_pPr().append(level)

    assert [section.path for section in parsed(document).sections] == [("Hours",)]


def test_styles_that_are_based_on_each_other_are_no_headings() -> None:
    document = docx.Document()
    first, second = (document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH) for name in ("First", "Second"))
    first.base_style, second.base_style = second, first
    document.add_paragraph("Text.", style="First")

    assert parsed(document).sections == ()


def test_the_file_s_own_title_is_used_where_no_paragraph_is_one() -> None:
    document = docx.Document()
    document.core_properties.title = "Opening hours"
    document.add_paragraph("Nine to five.")

    assert parsed(document).title == "Opening hours"


def test_headers_and_footers_are_left_out() -> None:
    document = docx.Document()
    document.add_paragraph("Text.")
    document.sections[0].header.paragraphs[0].text = "Header"
    document.sections[0].footer.paragraphs[0].text = "Footer"

    assert parsed(document).text == "Text."


def test_a_table_of_one_cell_is_a_frame_around_text() -> None:
    document = docx.Document()
    cell = document.add_table(1, 1).cell(0, 0)
    cell.text = "First."
    cell.add_paragraph("Second.")

    assert parsed(document).text == "First.\n\nSecond."


def test_a_table_in_a_cell_belongs_to_its_row() -> None:
    document = docx.Document()
    table = document.add_table(1, 2)
    table.cell(0, 0).text = "Prices"
    inner = table.cell(0, 1).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "Adult", "10"

    assert parsed(document).text == "Prices | Adult 10"


def test_deleted_text_is_gone_and_inserted_text_is_there() -> None:
    document = docx.Document()
    add_xml(
        document,
        f'<w:p {WORD}><w:r><w:t xml:space="preserve">The price is </w:t></w:r>'
        '<w:del w:id="1"><w:r><w:delText>nine</w:delText></w:r></w:del>'
        '<w:moveFrom w:id="2"><w:r><w:t>eight</w:t></w:r></w:moveFrom>'
        '<w:ins w:id="3"><w:r><w:t>ten</w:t></w:r></w:ins></w:p>',
    )

    assert parsed(document).text == "The price is ten"


def test_a_deleted_row_is_gone() -> None:
    document = docx.Document()
    table = document.add_table(2, 2)
    for cell, text in zip([*table.rows[0].cells, *table.rows[1].cells], "abcd", strict=True):
        cell.text = text
    table.rows[1]._tr.get_or_add_trPr().append(OxmlElement("w:del"))

    assert parsed(document).text == "a | b"


def test_h07_hidden_runs_are_left_out_and_counted() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Seen.")
    paragraph.add_run("secret").font.hidden = True
    paragraph.add_run("secret").font.size = Pt(1)
    document.add_paragraph("Also seen.").add_run("secret").font.color.rgb = RGBColor(255, 255, 255)

    assert parsed(document).text == "Seen.\n\nAlso seen."
    assert parsed(document).notes == ("hidden text left out: 2 places",)


def test_h07_a_style_hides_text_and_a_run_of_it_may_be_shown_again() -> None:
    document = docx.Document()
    style = document.styles.add_style("Ghost", WD_STYLE_TYPE.PARAGRAPH)
    style.font.hidden = True
    document.add_paragraph("secret", style="Ghost").add_run("Seen.").font.hidden = False

    assert parsed(document).text == "Seen."


def test_white_text_in_a_table_is_read_since_a_cell_may_be_dark() -> None:
    document = docx.Document()
    cell = document.add_table(1, 2).cell(0, 0)
    cell.paragraphs[0].add_run("Head").font.color.rgb = RGBColor(255, 255, 255)

    assert parsed(document).text == "Head |"


def test_a_footnote_follows_its_paragraph() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Text")
    mark = OxmlElement("w:footnoteReference")
    mark.set(qn("w:id"), "2")
    paragraph.add_run()._r.append(mark)
    document.add_paragraph("More.")

    text = parse("a.docx", with_footnotes(saved(document), "As of May.")).text

    assert text == "Text\n\nAs of May.\n\nMore."


def test_g05_footnotes_that_refer_to_themselves_are_read_once() -> None:
    document = docx.Document()
    mark = OxmlElement("w:footnoteReference")
    mark.set(qn("w:id"), "2")
    document.add_paragraph("Text").add_run()._r.append(mark)
    again = '</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t>'

    text = parse("a.docx", with_footnotes(saved(document), f"Note{again}.")).text

    assert text == "Text\n\nNote."


def with_footnotes(data: bytes, note: str) -> bytes:
    """The document with a part of footnotes, whose number 2 is the note."""
    notes = (
        f'<w:footnotes {WORD}><w:footnote w:id="2"><w:p><w:r><w:t>{note}</w:t></w:r></w:p></w:footnote></w:footnotes>'
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    relations = entry(data, "word/_rels/document.xml.rels").replace(
        b"</Relationships>", f'<Relationship Id="n1" Type="{kind}" Target="footnotes.xml"/></Relationships>'.encode()
    )
    return with_entry(with_entry(data, "word/footnotes.xml", notes.encode()), "word/_rels/document.xml.rels", relations)


def test_a_text_box_is_read_once() -> None:
    document = docx.Document()
    box = "<w:txbxContent><w:p><w:r><w:t>Boxed.</w:t></w:r></w:p></w:txbxContent>"
    add_xml(
        document,
        f'<w:p {WORD} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:r><w:t>Text.</w:t></w:r>'
        f"<w:r><mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>",
    )

    assert parsed(document).text == "Text.\n\nBoxed."


def test_g05_text_boxes_in_each_other_are_read_once() -> None:
    document = docx.Document()
    inner = "<w:r><w:t>Inmost.</w:t></w:r>"
    for _ in range(40):
        inner = f"<w:r><w:drawing><w:txbxContent><w:p>{inner}</w:p></w:txbxContent></w:drawing></w:r>"
    add_xml(document, f"<w:p {WORD}>{inner}</w:p>")

    assert parsed(document).text == "Inmost."


def test_g05_many_white_runs_take_linear_time() -> None:
    def white_runs(count: int) -> bytes:
        document = docx.Document()
        run = '<w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr><w:t>x</w:t></w:r>'
        add_xml(document, f"<w:p {WORD}>{run * count}<w:r><w:t>Seen.</w:t></w:r></w:p>")
        return saved(document)

    few, many = white_runs(4_000), white_runs(8_000)

    assert cpu_seconds(lambda: parse("a.docx", many)) < 3.5 * cpu_seconds(lambda: parse("a.docx", few)) + 0.2


def test_an_image_s_text_is_text_and_one_without_is_noted() -> None:
    document = docx.Document()
    document.add_paragraph("Seen: ")
    document.add_picture(picture())
    shape = document.add_picture(picture())
    shape._inline.docPr.set("descr", "A lighthouse at night")

    assert parsed(document).text == "Seen:\n\nA lighthouse at night"
    assert parsed(document).notes == ("1 image without a text that says what it shows",)


def test_g01_control_characters_of_a_text_do_not_reach_the_store() -> None:
    document = docx.Document()
    document.add_paragraph("a\tb\nc")

    assert parsed(document).text == "a\tb\nc"


def test_a_document_with_macros_is_read_and_its_macros_are_not() -> None:
    data = word_file()
    types = entry(data, "[Content_Types].xml").replace(
        b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
        b"application/vnd.ms-word.document.macroEnabled.main+xml",
    )
    with_macros = with_entry(with_entry(data, "[Content_Types].xml", types), "word/vbaProject.bin", b"Sub AutoOpen()")

    assert parse("a.docm", with_macros).text == parse("a.docx", data).text
