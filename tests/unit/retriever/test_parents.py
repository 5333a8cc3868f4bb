"""Chunks grouped into parents."""

from uuid import UUID

from retriever.parents import Child, ParentHit, parents_of, rank_parents

A, B = UUID(int=1), UUID(int=2)


def row(*lengths: int, section: str = "", page: int | None = None, start: int = 0) -> list[Child]:
    children = []
    for length in lengths:
        children.append(Child(start, start + length, section, page))
        start += length
    return children


def test_neighbouring_chunks_that_fit_have_one_parent() -> None:
    assert parents_of(row(400, 400, 400)) == [(0, 2)] * 3


def test_a_parent_is_at_most_as_long_as_the_maximum() -> None:
    assert parents_of(row(400, 400, 401)) == [(0, 1), (0, 1), (2, 2)]


def test_blanks_between_chunks_count() -> None:
    children = [Child(0, 600), Child(601, 1201)]

    assert parents_of(children) == [(0, 0), (1, 1)]


def test_a_long_stretch_gives_parents_of_about_one_size() -> None:
    assert parents_of(row(400, 400, 400, 400)) == [(0, 1), (0, 1), (2, 3), (2, 3)]


def test_no_parent_crosses_the_border_of_a_section() -> None:
    children = row(100, 100, section="1") + row(100, section="2", start=200)

    assert parents_of(children) == [(0, 1), (0, 1), (2, 2)]


def test_a_parent_goes_over_a_page_with_its_section() -> None:
    children = row(100, section="1", page=1) + row(100, section="1", page=2, start=100)

    assert parents_of(children) == [(0, 1), (0, 1)]


def test_without_sections_a_page_is_a_border() -> None:
    children = row(100, page=1) + row(100, page=2, start=100)

    assert parents_of(children) == [(0, 0), (1, 1)]


def test_a_chunk_that_is_longer_than_the_maximum_is_a_parent_by_itself() -> None:
    assert parents_of(row(100, 2000, 100)) == [(0, 0), (1, 1), (2, 2)]


def test_every_chunk_lies_in_its_own_parent() -> None:
    children = row(*(37 * (place % 11) + 1 for place in range(200)))

    parents = parents_of(children)

    assert all(first <= place <= last for place, (first, last) in enumerate(parents))
    assert all(children[last].end - children[first].start <= 1200 for first, last in parents)


def test_no_chunks_have_no_parents() -> None:
    assert parents_of([]) == []


def test_a_parent_stands_where_its_first_child_was_found_with_its_best_childs_score() -> None:
    hits = [ParentHit(A, 0, 2, 0.5), ParentHit(B, 0, 2, 0.4), ParentHit(A, 0, 2, 0.9), ParentHit(A, 3, 4, 0.1)]

    assert rank_parents(hits) == [ParentHit(A, 0, 2, 0.9), ParentHit(B, 0, 2, 0.4), ParentHit(A, 3, 4, 0.1)]
