"""Plain text files: their encodings, titles and what is no text."""

import codecs

import pytest

from retriever.ingest.document import UnreadableDocument
from retriever.ingest.plain import parse_plain

CHINESE = "郵票由國家發行。\n第二行，标点、数字 123。"


@pytest.mark.parametrize(
    "data",
    [
        CHINESE.encode(),
        codecs.BOM_UTF8 + CHINESE.encode(),
        codecs.BOM_UTF16_LE + CHINESE.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + CHINESE.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + CHINESE.encode("utf-32-le"),
        CHINESE.encode("gb18030"),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16 little", "utf-16 big", "utf-32", "gb18030"],
)
def test_a_text_is_the_same_in_every_encoding(data: bytes) -> None:
    assert parse_plain("a.txt", data).text == CHINESE


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\x00", b"caf\xe9 au lait, d\xe9j\xe0 vu, na\xefve", bytes(range(0x80, 0x100))],
    ids=["cut utf-16", "latin-1", "high bytes"],
)
def test_bytes_in_no_known_encoding_are_refused_with_the_ones_that_are_known(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match="is not text in UTF-8, UTF-16 or GB 18030"):
        parse_plain("a.txt", data)


def test_binary_data_is_refused() -> None:
    with pytest.raises(UnreadableDocument, match="holds binary data"):
        parse_plain("a.txt", bytes(range(32)) * 40)


def test_g01_nul_and_controls_are_gone_before_anything_is_counted() -> None:
    document = parse_plain("a.txt", b"One\0 line\x01.\r\nTwo\x0blines.\rEnd")

    assert document.text == "One line.\nTwo\nlines.\nEnd"


def test_the_first_line_is_the_title_if_it_is_short() -> None:
    assert parse_plain("notes.txt", b"\n  \n  Minutes of May  \nBody").title == "Minutes of May"


def test_a_long_first_line_is_no_title() -> None:
    assert parse_plain("dir/notes.txt", b"word " * 100).title == "notes"


def test_d08_a_text_has_no_pages() -> None:
    assert parse_plain("a.txt", b"Text").pages == ()
