"""Where chunks begin and end, as one who reads them as citations would like it."""

import pytest

from retriever.ingest.chunks import split_chunks
from retriever.ingest.document import ParsedDocument
from retriever.ingest.markdown import parse_markdown


def texts(document: ParsedDocument) -> list[str]:
    return [document.text[chunk.start : chunk.end] for chunk in split_chunks(document)]


def plain(text: str) -> ParsedDocument:
    return ParsedDocument("Title", "txt", text)


def markdown(text: str) -> ParsedDocument:
    return parse_markdown("a.md", text.encode())


def test_the_same_text_gives_the_same_chunks() -> None:
    text = "# One\n\nSome text. More.\n\n- item\n" * 40

    assert split_chunks(plain(text)) == split_chunks(plain(text))


def test_a_small_rest_is_not_left_alone() -> None:
    sentence = "This is one of several sentences, each of them about so long, yes. "

    *_, last = texts(plain(sentence * 5 + "And more of it at the end of this. Short end."))

    assert len(last) >= 80


def test_a_sentence_longer_than_a_chunk_is_cut_behind_a_clause() -> None:
    text = "one clause of a sentence without end, " * 30

    assert all(chunk.endswith(",") for chunk in texts(plain(text)))


@pytest.mark.parametrize("mark", ["3.", "3)", "(3)", "-", "•", "3、"])
@pytest.mark.parametrize("seam", ["\n", " "])
def test_a_list_mark_stays_with_its_item(mark: str, seam: str) -> None:
    item = f"{mark}{seam}Critical vulnerabilities are mended within three days of being found by anyone.\n"

    for chunk in texts(plain(item * 20)):
        assert chunk.startswith(mark)
        assert not chunk.endswith(f"\n{mark}")


def test_a_heading_stays_with_the_text_below_it() -> None:
    section = "## Heading that is as long as a heading in a handbook ever will be, and then some words more\n\n"
    sentence = "word " * 75 + "end."

    assert all("word" in chunk for chunk in texts(markdown(section + sentence)))


def test_a_heading_without_text_goes_with_the_one_below_it() -> None:
    (chunk,) = split_chunks(markdown("# Book\n\n## Chapter\n\nText."))

    assert chunk.path == ("Book", "Chapter")


def test_a_line_that_announces_a_list_is_not_the_last_of_a_chunk() -> None:
    text = "A sentence of the paragraph before the list, and long enough to count. " * 5 + "\nThese are the rules:\n"

    chunks = texts(plain(text + "- The first of the rules, which is not so long.\n" * 3))

    assert not any(chunk.endswith(":") for chunk in chunks)
