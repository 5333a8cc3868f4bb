"""What is said of a chunk beside its text."""

from retriever.ingest.document import Chunk, ParsedDocument
from retriever.ingest.headers import MAX_HEADER, chunk_header


def header(title: str, *path: str) -> str:
    return chunk_header(ParsedDocument(title, "md", "text"), Chunk(0, 0, 4, path))


def test_a_header_is_the_title_and_the_sections() -> None:
    assert header("Handbook", "Travel", "By rail") == "Handbook › Travel › By rail"


def test_a_chunk_without_a_section_has_the_title() -> None:
    assert header("Handbook") == "Handbook"


def test_the_title_is_not_said_twice() -> None:
    assert header("Handbook", "handbook", "Travel") == "Handbook › Travel"


def test_a_long_header_loses_its_middle_not_its_ends() -> None:
    long = header("Handbook", *(f"Section {level} " + "x" * 90 for level in range(5)), "By rail")

    assert len(long) <= MAX_HEADER
    assert long.startswith("Handbook › ")
    assert long.endswith(" › By rail")


def test_a_header_of_endless_words_is_cut() -> None:
    assert len(header("t" * 10_000, "s" * 10_000)) <= MAX_HEADER
