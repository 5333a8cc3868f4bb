"""One ranking from a lexical and a dense one."""

import pytest

from retriever.index.fusion import Fused, adapted_dense_weight, fuse
from retriever.passages import Hit


def scores(fused: list[Fused]) -> dict[int, float]:
    return {found.chunk_id: found.score for found in fused}


def test_the_score_is_the_weighted_sum_of_both_normalised_scores() -> None:
    lexical = [Hit(1, 30.0), Hit(2, 25.0), Hit(3, 10.0)]
    dense = [Hit(3, 0.9), Hit(1, 0.8), Hit(4, 0.7)]

    fused = fuse(lexical, dense, dense_weight=0.4, limit=3)

    assert [found.chunk_id for found in fused] == [1, 2, 3, 4]
    assert scores(fused) == pytest.approx({1: 0.6 + 0.2, 2: 0.45, 3: 0.4, 4: 0.0})


def test_what_each_leg_said_of_a_chunk_is_kept() -> None:
    fused = fuse([Hit(1, 30.0), Hit(2, 10.0)], [Hit(2, 0.9)], dense_weight=0.4, limit=2)

    assert fused == [Fused(1, 0.6, 0, 30.0, None, None), Fused(2, 0.4, 1, 10.0, 0, 0.9)]


def test_a_lexical_leg_that_found_less_than_it_was_asked_for_is_measured_from_zero() -> None:
    fused = fuse([Hit(1, 10.0), Hit(2, 9.9)], [], dense_weight=0.0, limit=100)

    assert scores(fused) == pytest.approx({1: 1.0, 2: 0.99})


def test_the_only_hit_of_a_leg_has_all_of_its_share() -> None:
    assert scores(fuse([], [Hit(7, 0.8)], dense_weight=0.4, limit=1)) == {7: 0.4}
    assert scores(fuse([Hit(7, 0.8)], [], dense_weight=0.4, limit=1)) == {7: 0.6}


def test_equal_scores_of_a_leg_all_have_all_of_its_share() -> None:
    fused = fuse([Hit(1, 5.0), Hit(2, 5.0)], [], dense_weight=0.4, limit=2)

    assert scores(fused) == {1: 0.6, 2: 0.6}


def test_equal_sums_stand_in_the_order_of_chunk_ids() -> None:
    fused = fuse([Hit(9, 5.0), Hit(3, 5.0), Hit(6, 5.0)], [], dense_weight=0.4, limit=3)

    assert [found.chunk_id for found in fused] == [3, 6, 9]


def test_negative_similarities_are_normalised_too() -> None:
    fused = fuse([], [Hit(1, 0.1), Hit(2, -0.1), Hit(3, -0.3)], dense_weight=1.0, limit=3)

    assert scores(fused) == pytest.approx({1: 1.0, 2: 0.5, 3: 0.0})


def test_two_empty_legs_give_nothing() -> None:
    assert fuse([], [], dense_weight=0.4, limit=100) == []


def test_the_less_a_chunk_stands_out_by_its_words_the_more_the_vectors_weigh() -> None:
    prominent = [Hit(1, 10.0), Hit(2, 1.0), Hit(3, 1.0)]
    flat = [Hit(1, 10.0), Hit(2, 9.0), Hit(3, 9.0)]

    weights = [adapted_dense_weight(0.4, words, []) for words in (prominent, flat)]

    assert 0 < weights[0] < weights[1] < 1


def test_words_of_usual_prominence_leave_the_weights_as_they_are_set() -> None:
    words = [Hit(1, 100.0), *(Hit(number, 36.36) for number in range(2, 101))]

    assert adapted_dense_weight(0.3, words, []) == pytest.approx(0.3, abs=0.001)


def test_words_that_tell_all_chunks_alike_leave_it_to_the_vectors() -> None:
    assert adapted_dense_weight(0.4, [Hit(1, 5.0), Hit(2, 5.0)], []) == 1.0
    assert adapted_dense_weight(0.4, [], [Hit(1, 0.9)]) == 1.0


def test_chunks_that_only_the_vectors_found_count_as_ones_without_the_words() -> None:
    words, nearest = [Hit(1, 5.0), Hit(2, 4.0)], [Hit(number, 0.9) for number in range(50)]

    assert adapted_dense_weight(0.4, words, nearest) < adapted_dense_weight(0.4, words, [])


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("words", [[], [Hit(1, 5.0)], [Hit(1, 5.0), Hit(2, 5.0)]])
def test_a_weight_of_nothing_or_all_stays_so(weight: float, words: list[Hit]) -> None:
    assert adapted_dense_weight(weight, words, [Hit(1, 0.9)]) == weight
