"""The lexical index of one knowledge base."""

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from retriever.index.lexical import MAX_TERMS, IndexedChunk, IndexedDocument, LexicalIndex


@pytest.fixture
def index(tmp_path: Path) -> LexicalIndex:
    return LexicalIndex(tmp_path / "kb", header_boost=2.0)


def document(*chunks: tuple[int, str, str], doc_id: UUID | None = None) -> IndexedDocument:
    return IndexedDocument(doc_id or uuid4(), tuple(IndexedChunk(*chunk) for chunk in chunks))


def ids(index: LexicalIndex, *terms: str) -> list[int]:
    return [hit.chunk_id for hit in index.search(dict.fromkeys(terms, 1.0), 10)]


def test_only_chunks_with_a_term_are_found_and_score_above_zero(index: LexicalIndex) -> None:
    index.apply([document((1, "ticket price", ""), (2, "museum", ""))], 1)

    hits = index.search({"ticket": 1.0}, 10)

    assert [hit.chunk_id for hit in hits] == [1]
    assert hits[0].score > 0


def test_a_header_counts_more_than_a_body(index: LexicalIndex) -> None:
    index.apply([document((1, "ticket", "museum"), (2, "museum", "ticket"))], 1)

    assert ids(index, "ticket") == [2, 1]


def test_a_document_is_replaced_whole(index: LexicalIndex) -> None:
    doc_id = uuid4()
    index.apply([document((1, "ticket", ""), (2, "ticket", ""), doc_id=doc_id), document((3, "ticket", ""))], 2)

    index.apply([document((4, "ticket", ""), doc_id=doc_id)], 3)

    assert ids(index, "ticket") == [3, 4]


def test_a_document_without_chunks_is_gone(index: LexicalIndex) -> None:
    doc_id = uuid4()
    index.apply([document((1, "ticket", ""), doc_id=doc_id)], 1)

    index.apply([document(doc_id=doc_id)], 2)

    assert ids(index, "ticket") == []


def test_a_change_applied_twice_is_the_same_change(index: LexicalIndex) -> None:
    change = [document((1, "ticket", ""))]
    index.apply(change, 1)

    index.apply(change, 1)

    assert ids(index, "ticket") == [1]


def test_equal_scores_come_by_id(index: LexicalIndex) -> None:
    for revision, chunk_id in enumerate((3, 1, 2), 1):
        index.apply([document((chunk_id, "ticket", ""))], revision)

    assert ids(index, "ticket") == [1, 2, 3]


def test_an_index_opens_at_its_revision(index: LexicalIndex, tmp_path: Path) -> None:
    index.apply([document((1, "ticket", ""))], 7)

    again = LexicalIndex(tmp_path / "kb", header_boost=2.0)

    assert (again.revision, ids(again, "ticket")) == (7, [1])


def test_of_too_many_terms_the_rarest_are_asked_for(index: LexicalIndex) -> None:
    common = " ".join(f"common{number}" for number in range(MAX_TERMS))
    index.apply([document((1, f"{common} rare", ""), (2, common, ""), (3, common, ""))], 1)

    assert ids(index, *common.split(), "rare")[0] == 1
    assert len(ids(index, *common.split(), "rare")) == 3


def test_terms_that_nothing_has_take_no_place(index: LexicalIndex) -> None:
    index.apply([document((1, "ticket", ""))], 1)

    assert ids(index, *(f"unknown{number}" for number in range(MAX_TERMS)), "ticket") == [1]


def test_no_term_finds_nothing(index: LexicalIndex) -> None:
    index.apply([document((1, "ticket", ""))], 1)

    assert ids(index) == []
