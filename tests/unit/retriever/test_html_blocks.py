"""HTML: rows, items, breaks and sections as they come out in the text."""

from retriever.ingest.document import ParsedDocument
from retriever.ingest.html import parse_html


def parse(html: str) -> ParsedDocument:
    return parse_html("page.html", html.encode())


def test_a_page_without_headings_has_text_and_no_sections() -> None:
    document = parse("<p>Only text</p>")

    assert (document.text, document.sections, document.title) == ("Only text", (), "Only text")


def test_headings_nest_and_each_section_starts_with_its_own() -> None:
    document = parse("<p>Intro</p><h1>A</h1><p>a</p><h2>B <i>b</i></h2><p>b</p><h1>C</h1>")

    starts = [(section.path, document.text[section.start : section.body]) for section in document.sections]
    assert starts == [(("A",), "A"), (("A", "B b"), "B b"), (("C",), "C")]


def test_a_picture_s_title_is_not_the_pages() -> None:
    assert parse("<h1>Page</h1><svg><title>Icon</title></svg>").title == "Page"


def test_utf_8_is_read_as_such_whatever_the_page_declares() -> None:
    assert parse('<meta http-equiv="Content-Type" content="text/html; charset=gb2312"><p>邮票</p>').text == "邮票"


def test_a_row_is_a_line_with_its_cells_apart() -> None:
    table = "<table><tr><th>Key</th><th>Bits</th></tr><tr><td><p>RSA</p></td><td>\n<p>2048</p>\n</td></tr></table>"

    assert parse(table).text == "Key | Bits\nRSA | 2048"


def test_an_empty_cell_keeps_its_place() -> None:
    assert parse("<table><tr><td>a</td><td></td><td>c</td></tr></table>").text == "a | | c"


def test_a_page_laid_out_by_a_table_keeps_its_headings() -> None:
    document = parse("<table><tr><td>Menu</td><td><h1>News</h1><p>One</p><p>Two</p></td></tr></table>")

    assert [section.path for section in document.sections] == [("News",)]
    assert document.text[document.sections[0].start :] == "News\n\nOne\nTwo"


def test_list_items_stand_on_lines_of_their_own() -> None:
    items = "<p>Steps:</p><ul><li>One</li><li><p>Two</p><ol><li>Two a</li></ol></li><li>Three</li></ul><p>End</p>"

    lines = parse(items).text.split("\n")
    assert [line for line in lines if line] == ["Steps:", "One", "Two", "Two a", "Three", "End"]


def test_items_of_a_list_follow_without_an_empty_line() -> None:
    assert parse("<ul>\n<li>One</li>\n<li>Two</li>\n</ul><p>End</p>").text == "One\nTwo\n\nEnd"


def test_a_forced_line_break_is_one() -> None:
    assert parse("<p>Roses<br>are<br/> red</p>").text == "Roses\nare\nred"


def test_g05_a_page_10_000_levels_deep_is_read() -> None:
    assert parse("<div>" * 10_000 + "deep" + "</div>" * 10_000).text == "deep"
