"""What is said of a chunk beside its text."""

import pytest

from retriever.ingest.document import Chunk, ParsedDocument
from retriever.ingest.headers import (
    MAX_CONTEXTUAL_HEADER,
    MAX_HEADER,
    chunk_header,
    contextual_header,
    contextual_headers,
)
from retriever.ingest.parts import Part
from retriever.ingest.summary import width


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


def test_summaries_stand_behind_the_title_and_the_sections() -> None:
    assert contextual_header("Handbook", ("Travel",), ("Fares.", "Rules for staff.")) == (
        "Handbook › Travel — Fares. — Rules for staff."
    )


def test_a_summary_that_is_not_there_leaves_no_gap() -> None:
    assert contextual_header("Handbook", (), ("", "Rules for staff.")) == "Handbook — Rules for staff."


@pytest.mark.parametrize("letter", ["x", "旅"])
def test_a_header_with_summaries_is_bounded_and_cuts_the_last_one(letter: str) -> None:
    long = contextual_header("Handbook", (letter * 500, letter * 500), ("first " * 40, letter * 1000))

    assert width(long) <= MAX_CONTEXTUAL_HEADER
    assert long.startswith("Handbook › ")
    assert "first" in long
    assert long.endswith("…")


def test_without_room_for_a_few_words_a_summary_is_left_out() -> None:
    full = contextual_header("旅" * 150, ("行" * 150,), ())

    assert contextual_header("旅" * 150, ("行" * 150,), ("费" * 120, "用" * 120)).count(" — ") == 1
    assert width(full) < MAX_CONTEXTUAL_HEADER


def test_each_chunk_gets_the_summary_of_its_part_and_that_of_the_document() -> None:
    sections = ["", "Travel", "Travel › Rail", "Pay", "Pay"]
    parts = (Part(("Travel",), 1, 3), Part(("Pay",), 3, 5))

    headers = contextual_headers("Handbook", sections, parts, "For staff.", {1: "Fares."})

    assert headers == {
        0: "Handbook — For staff.",
        1: "Handbook › Travel — Fares. — For staff.",
        2: "Handbook › Travel › Rail — Fares. — For staff.",
        3: "Handbook › Pay — For staff.",
        4: "Handbook › Pay — For staff.",
    }
