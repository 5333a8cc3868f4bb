"""Chunks cover a document, in order, within their limits."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewire.text.normalise import clean
from retriever.ingest.chunks import split_chunks
from retriever.ingest.document import Page, ParsedDocument
from retriever.ingest.parsers import parse

MAXIMUM = 60
MINIMUM = 15

ALPHABET = 'aB. ,\n\n灯。，！👩\u200d🔬\u0301-#*|1\u00a0\u3000[]"”'
TEXTS = st.lists(st.one_of(st.text(ALPHABET, max_size=40), st.text(max_size=20), st.just("word " * 20))).map("".join)


def plain(text: str) -> ParsedDocument:
    return ParsedDocument("Title", "txt", text)


def paged(texts: list[str]) -> ParsedDocument:
    """A document of pages with an empty line between them."""
    pages = []
    start = 0
    for number, text in enumerate(texts, start=1):
        pages.append(Page(number, None, start, start + len(text)))
        start += len(text) + 2
    return ParsedDocument("Title", "pdf", "\n\n".join(texts), tuple(pages))


def texts(document: ParsedDocument, maximum: int = 400, minimum: int = 80) -> list[str]:
    return [document.text[chunk.start : chunk.end] for chunk in split_chunks(document, maximum, minimum)]


@settings(deadline=None)
@given(TEXTS)
def test_chunks_hold_all_text_but_white_space(text: str) -> None:
    held = "".join(texts(plain(text), MAXIMUM, MINIMUM))

    assert "".join(held.split()) == "".join(text.split())


@settings(deadline=None)
@given(TEXTS)
def test_chunks_are_in_order_and_apart(text: str) -> None:
    chunks = split_chunks(plain(text), MAXIMUM, MINIMUM)

    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert all(before.end <= after.start for before, after in pairwise(chunks))


@settings(deadline=None)
@given(TEXTS)
def test_a_chunk_is_within_its_limit_and_without_white_space_around(text: str) -> None:
    for chunk in texts(plain(text), MAXIMUM, MINIMUM):
        assert 0 < len(chunk) <= MAXIMUM
        assert chunk == chunk.strip()


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=5))
def test_each_chunk_lies_on_one_page(pages: list[str]) -> None:
    document = paged(pages)

    for chunk in split_chunks(document, MAXIMUM, MINIMUM):
        touched = [page for page in document.pages if page.start < chunk.end and chunk.start < page.end]
        assert len(touched) == 1
        assert touched[0].start <= chunk.start
        assert chunk.end <= touched[0].end


@settings(deadline=None)
@given(TEXTS)
def test_a_markdown_document_is_held_whole(text: str) -> None:
    document = parse("a.md", b"# Title\n\nx\n\n" + clean(text).encode())

    held = "".join(texts(document, MAXIMUM, MINIMUM))

    assert "".join(held.split()) == "".join(document.text.split())


def test_short_paragraphs_are_joined() -> None:
    text = "A short one.\n\nAnother one.\n\nA third one."

    assert texts(plain(text)) == [text]


def test_long_paragraphs_are_cut_between_them() -> None:
    paragraphs = ["First words. " * 20, "Second words. " * 20]

    assert texts(plain("\n\n".join(paragraphs))) == [paragraph.strip() for paragraph in paragraphs]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    cut = texts(plain("The lighthouse was built in 1887 by the town. " * 30))

    assert len(cut) > 1
    assert all(chunk.endswith("town.") and chunk.startswith("The") for chunk in cut)


def test_e03_a_chinese_paragraph_is_cut_between_sentences() -> None:
    cut = texts(plain("灯塔建于一八八七年，至今仍在使用。谁修的？镇上的人！很好；" * 40))

    assert len(cut) > 1
    assert all(chunk[-1] in "。？！；" for chunk in cut)


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    cut = texts(plain("lighthouse " * 200))

    assert {word for chunk in cut for word in chunk.split()} == {"lighthouse"}


def test_chinese_without_a_stop_is_cut_anywhere() -> None:
    cut = texts(plain("灯" * 1000))

    assert "".join(cut) == "灯" * 1000


def test_an_emoji_is_not_torn_apart() -> None:
    cut = texts(plain("👩\u200d🔬" * 500))

    assert all(chunk.startswith("👩") and chunk.endswith("🔬") for chunk in cut)


def test_a_section_of_fair_size_stands_alone() -> None:
    document = parse("a.md", ("# A\n\n" + "First words. " * 10 + "\n\n# B\n\n" + "Second words. " * 10).encode())

    chunks = split_chunks(document)

    assert [chunk.path for chunk in chunks] == [("A",), ("B",)]


def test_a_heading_is_not_a_chunk_of_its_own() -> None:
    document = parse("a.md", ("# Handbook\n\n## Hours\n\n" + "We open at nine and close at five. " * 30).encode())

    first, *others = split_chunks(document)

    assert document.text[first.start : first.end].startswith("# Handbook\n\n## Hours\n\nWe open")
    assert {chunk.path for chunk in (first, *others)} == {("Handbook", "Hours")}


def test_d03_a_chunk_ends_with_its_page() -> None:
    document = paged(["Short one.", "Short two."])

    assert texts(document) == ["Short one.", "Short two."]


def test_a_document_of_white_space_has_no_chunks() -> None:
    assert split_chunks(plain(" \n\n\t ")) == ()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "灯" * 1_000_000, "word " * 200_000, "a.\n" * 300_000, "# a\n\n" * 100_000]
)
def test_g05_a_million_characters_are_cut_in_time(text: str) -> None:
    held = "".join(texts(plain(text)))

    assert "".join(held.split()) == "".join(text.split())


def test_a_heading_in_plain_text_goes_with_what_follows() -> None:
    words = "We open at nine and close at five. "
    text = "\n\n".join([words * 10, "Tickets", words.replace("open", "sell") * 10])

    cut = texts(plain(text))

    assert [chunk.split()[0] for chunk in cut] == ["We", "Tickets"]
