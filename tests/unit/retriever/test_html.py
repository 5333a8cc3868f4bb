"""HTML becomes what its reader sees."""

import pytest

from retriever.ingest.document import ParsedDocument
from retriever.ingest.parsers import parse


def parsed(body: str) -> ParsedDocument:
    return parse("page.html", body.encode())


def test_blocks_are_paragraphs_and_inline_marks_are_gone() -> None:
    document = parsed("<p>One <b>bold</b>\n  word.</p><div>Two<br>lines.</div>tail")

    assert document.text == "One bold word.\n\nTwo\nlines.\n\ntail"


def test_a_list_item_has_its_own_line() -> None:
    text = parsed("<p>List:</p><ul><li>one<li>two</ul><p>end</p>").text

    assert [line for line in text.split("\n") if line] == ["List:", "one", "two", "end"]
    assert text.endswith("one\ntwo\n\nend")


def test_the_cells_of_a_row_stand_in_one_line() -> None:
    table = "<table><tr><th>Name<th>Price</tr>\n <tr>\n<td><p>Ticket</p></td>\n <td><div>10</div></td></tr></table>"

    assert parsed(table).text == "Name | Price\nTicket | 10"


def test_preformatted_lines_stay_lines() -> None:
    lines = parsed("<p>Code:</p><pre>if a:\n    b()\n</pre>").text.split("\n")

    assert [line.strip() for line in lines if line] == ["Code:", "if a:", "b()"]


def test_entities_are_characters() -> None:
    assert parsed("<p>A&nbsp;&amp; B &lt;p&gt; &#x4e2d;&#128105;</p>").text.replace("\xa0", " ") == "A & B <p> 中👩"


def test_g01_an_entity_for_a_control_character_does_not_reach_the_store() -> None:
    text = parsed("<p>a&#0;b&#1;c&#xD800;d</p>").text

    assert text.isprintable()


def test_the_title_is_the_pages_own() -> None:
    document = parsed("<head><title> Opening\n hours </title></head><h1>Welcome</h1><p>Nine to five.")

    assert document.title == "Opening hours"
    assert "Opening" not in document.text


def test_without_a_title_the_first_heading_is_it() -> None:
    assert parsed("<p>before</p><h2>Welcome <i>all</i></h2><p>text").title == "Welcome all"


def test_headings_are_sections() -> None:
    document = parsed("<h1>A</h1><p>one</p><div><h2>B</h2><p>two</p></div><h1>C</h1><p>three</p>")

    assert [section.path for section in document.sections] == [("A",), ("A", "B"), ("C",)]
    assert document.text[document.sections[1].start : document.sections[1].end].strip() == "B\n\ntwo"


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>secret</script>",
        "<style>secret</style>",
        "<noscript>secret</noscript>",
        "<template><p>secret</p></template>",
        "<!-- secret -->",
        "<p hidden>secret</p>",
        "<div hidden=''><p>secret</p></div>",
        "<p aria-hidden='true'>secret</p>",
        "<p style='color: red; DISPLAY : none'>secret</p>",
        "<p style='visibility:hidden'>secret</p>",
        "<span style='font-size:0'>secret</span>",
        "<span style='opacity: 0;'>secret</span>",
        "<dialog>secret</dialog>",
        "<div style='display:none'><script>secret</script><p hidden>secret</p></div>",
    ],
)
def test_h07_what_no_reader_sees_is_no_text(hidden: str) -> None:
    assert parsed(f"<p>before</p>{hidden}<p>after</p>").text == "before\n\nafter"


@pytest.mark.parametrize(
    "visible",
    ["<p aria-hidden='false'>seen</p>", "<p style='opacity:0.5'>seen</p>", "<p style='font-size:0.9em'>seen</p>"],
)
def test_what_only_looks_like_hidden_is_read(visible: str) -> None:
    assert parsed(visible).text == "seen"


def test_the_declared_encoding_is_honoured() -> None:
    data = "<html><meta charset=big5><p>燈塔建於1887年</p>".encode("big5")

    assert parse("page.html", data).text == "燈塔建於1887年"


@pytest.mark.parametrize("declared", ["no-such-encoding", "hex", "unicode_escape", "utf-16", "undefined"])
def test_a_declaration_that_makes_no_sense_is_ignored(declared: str) -> None:
    data = f"<meta charset={declared}><p>票价 \\u0041</p>".encode()

    assert parse("page.html", data).text == "票价 \\u0041"


def test_latin_1_is_read_where_it_is_declared() -> None:
    data = "<meta http-equiv=content-type content='text/html; charset=iso-8859-1'><p>Zürich “ja”</p>".encode("cp1252")

    assert parse("page.html", data).text == "Zürich “ja”"


def test_g05_a_deeply_nested_page_is_read() -> None:
    assert parsed("<div>" * 5_000 + "text").text == "text"
