"""Files become text, or say why not."""

import pytest

from retriever.ingest.parsers import UnreadableDocument, parse


def test_text_is_kept_as_it_is() -> None:
    document = parse("notes.txt", "One line.\r\n\r\n第二行。👩‍🔬\r\n".encode())

    assert document.text == "One line.\n\n第二行。👩‍🔬\n"
    assert document.document_type == "txt"


def test_a_short_first_line_is_the_title() -> None:
    document = parse("notes.txt", b"\n\n  Opening hours  \nNine to five.")

    assert document.title == "Opening hours"


def test_a_file_with_a_long_first_line_is_called_by_its_name() -> None:
    document = parse("notes.txt", b"word " * 100)

    assert document.title == "notes"


def test_d08_a_file_without_pages_has_no_pages() -> None:
    documents = [parse("a.txt", b"text"), parse("a.md", b"# text"), parse("a.html", b"<p>text")]

    assert [document.pages for document in documents] == [(), (), ()]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030", "gbk"])
def test_chinese_text_is_read_in_the_usual_encodings(encoding: str) -> None:
    document = parse("notes.txt", "灯塔建于1887年。".encode(encoding))

    assert document.text == "灯塔建于1887年。"


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_says_how_to_read_and_is_no_text(order: str) -> None:
    document = parse("notes.txt", "\ufeffTickets 票价".encode(order))

    assert document.text == "Tickets 票价"


def test_latin_1_is_not_read_as_chinese() -> None:
    data = "Zürich, Genève und Köln: schön, größer, übermäßig".encode("latin-1")

    with pytest.raises(UnreadableDocument, match="UTF-8"):
        parse("notes.txt", data)


@pytest.mark.parametrize("file_name", ["a.txt", "a.md", "a.html"])
def test_g01_a_nul_does_not_reach_the_store(file_name: str) -> None:
    document = parse(file_name, b"a\0b and \x01 more")

    assert "\0" not in document.text
    assert "\x01" not in document.text
    assert "more" in document.text


def test_an_unknown_type_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(UnreadableDocument, match=r"\.exe.*\.txt.*\.md.*\.html.*\.pdf"):
        parse("setup.exe", b"MZ")


def test_the_ending_may_be_in_capitals() -> None:
    assert parse("README.MD", b"# Title").document_type == "md"


@pytest.mark.parametrize("data", [b"", b"  \r\n\t", b"\0\0\0"])
def test_an_empty_file_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match="empty"):
        parse("a.txt", data)


@pytest.mark.parametrize("data", [b"<script>let text</script>", b"<p hidden>text</p>", b"\xef\xbb\xbf"])
def test_a_file_without_text_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match="no text"):
        parse("a.html", data)


@pytest.mark.parametrize(
    ("file_name", "data"),
    [
        ("a.pdf", b"This is no PDF at all."),
        ("a.txt", b"%PDF-1.7 this is one"),
        ("a.md", b"PK\x03\x04 this is an archive"),
        ("a.html", b"\x89PNG\r\n\x1a\n this is an image"),
    ],
)
def test_content_that_contradicts_the_ending_is_refused(file_name: str, data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match=f"called {file_name[1:]}"):
        parse(file_name, data)


def test_binary_data_is_no_text() -> None:
    data = bytes(range(32)) * 100

    with pytest.raises(UnreadableDocument, match="binary"):
        parse("a.txt", data)


def test_bytes_in_no_known_encoding_are_refused() -> None:
    with pytest.raises(UnreadableDocument, match="UTF-8"):
        parse("a.txt", b"text \xff\xff\xff text")
