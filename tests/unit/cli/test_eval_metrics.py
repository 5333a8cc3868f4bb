"""How good rankings are, against values worked out by hand."""

import math

import pytest

from citewire.cli.eval_metrics import documents_of, ndcg, percentile, recall


def test_a_document_stands_where_its_best_chunk_does() -> None:
    assert documents_of(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_a_perfect_ranking_is_worth_1() -> None:
    assert ndcg(["a", "b", "x"], {"b": 1, "a": 2}, 10) == pytest.approx(1)


def test_a_relevant_document_counts_less_further_down() -> None:
    assert ndcg(["x", "y", "a"], {"a": 1}, 10) == pytest.approx(1 / math.log2(4))


def test_the_gain_of_two_documents_in_the_wrong_order() -> None:
    wrong = 1 + 3 / math.log2(3)
    right = 3 + 1 / math.log2(3)

    assert ndcg(["b", "a"], {"a": 3, "b": 1}, 10) == pytest.approx(wrong / right)


def test_what_stands_behind_the_depth_does_not_count() -> None:
    assert ndcg(["x", "a"], {"a": 1}, 1) == 0


def test_more_relevant_documents_than_the_depth_can_hold_are_no_fault() -> None:
    assert ndcg(["a", "b"], dict.fromkeys("abcd", 1), 2) == pytest.approx(1)


def test_an_empty_ranking_is_worth_nothing() -> None:
    assert ndcg([], {"a": 1}, 10) == 0


def test_recall_is_the_share_of_relevant_documents_within_the_depth() -> None:
    assert recall(["a", "x", "b", "c"], dict.fromkeys("abcd", 1), 3) == 0.5


@pytest.mark.parametrize(("share", "expected"), [(0.5, 2.0), (0.51, 3.0), (0.95, 4.0), (1.0, 4.0), (0.0, 1.0)])
def test_a_percentile_is_one_of_the_values(share: float, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == expected


def test_there_is_no_percentile_without_values() -> None:
    assert percentile([], 0.5) == 0
