"""Which parts of a document get a summary of their own."""

from retriever.ingest.parts import Part, parts_of


def test_a_text_without_headings_has_no_parts() -> None:
    assert parts_of([""] * 30, 10) == ()


def test_a_part_of_two_chunks_counts_and_one_of_a_single_chunk_does_not() -> None:
    sections = ["Travel", "Travel", "Pay"]

    assert parts_of(sections, 10) == (Part(("Travel",), 0, 2),)


def test_small_sections_under_one_heading_are_one_part() -> None:
    sections = ["Travel", "Travel › By rail", "Travel › By road", "Pay", "Pay"]

    assert [part.path for part in parts_of(sections, 10)] == [("Travel",), ("Pay",)]


def test_a_long_part_gives_way_to_those_under_it() -> None:
    sections = ["Travel"] * 2 + ["Travel › By rail"] * 9 + ["Travel › By road"] * 9 + ["Pay"] * 3

    assert parts_of(sections, 10) == (
        Part(("Travel",), 0, 2),
        Part(("Travel", "By rail"), 2, 11),
        Part(("Travel", "By road"), 11, 20),
        Part(("Pay",), 20, 23),
    )


def test_a_long_part_with_nothing_under_it_stays() -> None:
    sections = ["Travel"] * 100 + ["Pay"] * 3

    assert parts_of(sections, 10)[0] == Part(("Travel",), 0, 100)


def test_a_heading_above_the_whole_document_is_no_part() -> None:
    assert parts_of(["Handbook"] * 5, 10) == ()
    assert [part.path for part in parts_of(["Handbook › Pay"] * 3 + ["Handbook › Travel"] * 2, 10)] == [
        ("Handbook", "Pay"),
        ("Handbook", "Travel"),
    ]


def test_the_same_heading_in_two_places_is_two_parts() -> None:
    sections = ["Notes"] * 2 + ["Pay"] * 2 + ["Notes"] * 2

    assert [part.first for part in parts_of(sections, 10)] == [0, 2, 4]


def test_the_longest_parts_are_chosen_and_stand_in_text_order() -> None:
    sections = [f"Part {number}" for number in range(20) for _ in range(number + 1)]

    assert [part.path[0] for part in parts_of(sections, 3)] == ["Part 17", "Part 18", "Part 19"]


def test_no_parts_are_chosen_where_none_are_wanted() -> None:
    assert parts_of(["Travel"] * 4 + ["Pay"] * 4, 0) == ()
