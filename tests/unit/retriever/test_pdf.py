"""PDFs are read page by page."""

from collections.abc import Sequence

import pytest

from retriever.ingest.limits import MAX_PAGES
from retriever.ingest.parsers import UnreadableDocument, parse
from sample_files import pdf_file, shown


def pdf(
    *pages: Sequence[str], catalog: str = "", entries: str = "", trailer: str = "", more: Sequence[str] = ()
) -> bytes:
    """A PDF of pages of lines of Latin text."""
    streams = [shown(") Tj T* (".join(lines), "12 TL") for lines in pages]
    return pdf_file(*streams, catalog=catalog, entries=entries, trailer=trailer, more=more)


def test_d02_pages_are_counted_from_one_and_hold_their_text() -> None:
    document = parse("a.pdf", pdf(["First words."], ["Second words."], ["Third words."]))

    assert [page.number for page in document.pages] == [1, 2, 3]
    texts = [document.text[page.start : page.end].strip() for page in document.pages]
    assert texts == ["First words.", "Second words.", "Third words."]


def test_d03_printed_labels_are_kept_beside_the_physical_page() -> None:
    labels = "/PageLabels << /Nums [0 << /S /r >> 2 << /S /D /St 127 >>] >>"

    document = parse("a.pdf", pdf(["One."], ["Two."], ["Three."], ["Four."], catalog=labels))

    assert [(page.number, page.label) for page in document.pages] == [(1, "i"), (2, "ii"), (3, "127"), (4, "128")]


def test_d03_a_file_without_labels_has_none() -> None:
    document = parse("a.pdf", pdf(["One."], ["Two."]))

    assert [page.label for page in document.pages] == [None, None]


def test_an_empty_page_keeps_its_number() -> None:
    document = parse("a.pdf", pdf(["One."], [], ["Three."]))

    assert [page.number for page in document.pages] == [1, 2, 3]
    assert document.text[document.pages[2].start : document.pages[2].end].strip() == "Three."


def test_a_sentence_does_not_end_where_the_paper_did() -> None:
    lines = [
        "The lighthouse was built in the year 1887 by the town of Ambleside and",
        "was lit for the first time in the autumn of the following year by two",
        "keepers.",
        "Another paragraph.",
    ]

    text = parse("a.pdf", pdf(lines)).text

    assert text == " ".join(lines[:3]) + "\nAnother paragraph."


def test_d07_a_word_parted_at_a_lines_end_is_one_word() -> None:
    lines = ["The lighthouse was built in the year 1887 by the coun-", "cil of the town.", "It is white and 20 m high."]

    assert "by the council of the town." in parse("a.pdf", pdf(lines)).text


def test_the_rows_of_a_table_stay_rows() -> None:
    lines = [
        "Revenue of the company  1,234  1,111",
        "Costs of all its places 1,000    999",
        "Profit and loss before  234    112",
    ]

    assert parse("a.pdf", pdf(lines)).text.count("\n") == 2


def test_g01_control_characters_do_not_reach_the_store() -> None:
    text = parse("a.pdf", pdf(["a\\000b\\001c d"])).text

    assert text.replace("\n", "").isprintable()


def test_h07_an_annotation_is_no_text() -> None:
    note = "/Annots [<< /Type /Annot /Subtype /Text /Rect [10 10 50 50] /Contents (secret) >>]"

    document = parse("a.pdf", pdf(["Seen words."], entries=note))

    assert document.text.strip() == "Seen words."


def test_h07_what_lies_off_the_page_is_no_text() -> None:
    document = parse("a.pdf", pdf(["Seen words.) Tj 5000 0 Td (secret"]))

    assert "secret" not in document.text


def test_the_title_is_the_files_own() -> None:
    document = parse("a.pdf", pdf(["Words."], more=["<< /Title (Opening hours) >>"], trailer="/Info 6 0 R"))

    assert document.title == "Opening hours"


@pytest.mark.parametrize("title", ["Microsoft Word - x.doc", "untitled", "report_final.docx", "   "])
def test_a_title_that_a_program_made_up_is_none(title: str) -> None:
    document = parse("a.pdf", pdf(["Opening hours"], more=[f"<< /Title ({title}) >>"], trailer="/Info 6 0 R"))

    assert document.title == "Opening hours"


def test_a_title_of_broken_characters_is_none() -> None:
    document = parse("a.pdf", pdf(["Opening hours"], more=["<< /Title <FEFFD800> >>"], trailer="/Info 6 0 R"))

    assert document.title == "Opening hours"


def test_the_outline_gives_the_sections() -> None:
    outline = [
        "<< /Type /Outlines /First 9 0 R /Last 10 0 R /Count 2 >>",
        "<< /Title (Chapter one) /Parent 8 0 R /Next 10 0 R /Dest [4 0 R /Fit] /First 11 0 R /Last 11 0 R /Count 1 >>",
        "<< /Title (Chapter two) /Parent 8 0 R /Prev 9 0 R /Dest [6 0 R /Fit] >>",
        "<< /Title (A part of it) /Parent 9 0 R /Dest [4 0 R /Fit] >>",
    ]
    pages = [["Chapter one", "Some words.", "A part of it", "More words."], ["Chapter two", "Last words."]]

    document = parse("a.pdf", pdf(*pages, catalog="/Outlines 8 0 R", more=outline))

    slices = [(section.path, document.text[section.start : section.end].strip()) for section in document.sections]
    assert slices == [
        (("Chapter one",), "Chapter one\nSome words."),
        (("Chapter one", "A part of it"), "A part of it\nMore words."),
        (("Chapter two",), "Chapter two\nLast words."),
    ]


def test_a_file_that_needs_a_password_is_refused() -> None:
    key = "<" + "00" * 32 + ">"
    lock = f"<< /Filter /Standard /V 1 /R 2 /O {key} /U {key} /P -4 >>"

    with pytest.raises(UnreadableDocument, match="encrypted"):
        parse("a.pdf", pdf(["Words."], more=[lock], trailer=f"/Encrypt 6 0 R /ID [{key} {key}]"))


@pytest.mark.parametrize("data", [b"%PDF-1.7\nnothing follows", pdf(["Words."])[:60]])
def test_a_broken_file_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match="broken"):
        parse("a.pdf", data)


def test_a_scan_without_text_is_refused() -> None:
    with pytest.raises(UnreadableDocument, match="scanned"):
        parse("a.pdf", pdf([], []))


def test_g05_too_many_pages_are_refused() -> None:
    with pytest.raises(UnreadableDocument, match="pages"):
        parse("a.pdf", pdf(*[[]] * (MAX_PAGES + 1)))


def test_the_dots_of_a_list_of_contents_are_one() -> None:
    lines = ["Contents", "1 Introduction . . . . . . . . . . . . 1", "2 Tickets and prices ................. 7"]

    text = parse("a.pdf", pdf(lines)).text

    assert text.split("\n") == ["Contents", "1 Introduction … 1", "2 Tickets and prices … 7"]


def test_a_page_number_is_no_text() -> None:
    pages = [[f"Words of page {name}.", str(number)] for number, name in enumerate(["one", "two", "three"], start=11)]

    document = parse("a.pdf", pdf(*pages))

    assert " ".join(document.text.split()) == "Words of page one. Words of page two. Words of page three."
