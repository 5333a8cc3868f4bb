"""The similarity that segments are built from."""

import pytest

from citewire.contracts.retrieval import RSE_PRESETS
from retriever.passages import Hit
from retriever.similarity import Evidence, coverage, evidence_of_both, evidence_of_vectors, evidence_of_words

STANDS_OUT = [Hit(0, 0.92), *(Hit(number, 0.80) for number in range(1, 100))]
FLAT = [Hit(number, 0.84) for number in range(100)]
# What a chunk by itself needs to be a segment.
ENOUGH = RSE_PRESETS["balanced"].minimum_value + RSE_PRESETS["balanced"].irrelevant_chunk_penalty

ALL = [
    evidence_of_words(0.8),
    evidence_of_words(0.0),
    evidence_of_both(0.8, STANDS_OUT),
    evidence_of_both(0.0, FLAT),
    evidence_of_vectors(0.8, STANDS_OUT),
]


@pytest.mark.parametrize("evidence", ALL)
def test_it_rises_with_the_fused_score_and_stays_within_0_and_1(evidence: Evidence) -> None:
    values = [evidence.similarity(step / 10 * evidence.top) for step in range(11)]

    assert values == sorted(set(values))
    assert all(0 < value < 1 for value in values)


def test_a_chunk_with_the_words_of_the_question_is_enough_by_itself() -> None:
    assert evidence_of_words(0.8).similarity(1.0) > ENOUGH
    assert evidence_of_both(0.8, STANDS_OUT).similarity(1.0) > ENOUGH


def test_a_chunk_that_stands_out_is_enough_across_scripts() -> None:
    assert evidence_of_vectors(0.8, STANDS_OUT).similarity(0.8) > ENOUGH


def test_the_best_chunk_for_an_unrelated_question_is_not_enough() -> None:
    assert evidence_of_words(0.05).similarity(1.0) < ENOUGH
    assert evidence_of_both(0.05, FLAT).similarity(1.0) < ENOUGH
    assert evidence_of_vectors(0.8, FLAT).similarity(0.8) < ENOUGH


def test_a_single_candidate_is_judged_as_if_it_stood_out_as_usual() -> None:
    alone = evidence_of_both(0.8, [Hit(1, 0.85)])

    assert alone.similarity(1.0) > ENOUGH


@pytest.mark.parametrize(
    ("terms", "share"), [({"ticket", "price"}, 1.0), ({"ticket"}, 0.8), (set(), 0.0), ({"other"}, 0.0)]
)
def test_coverage_is_the_weighted_share_of_terms(terms: set[str], share: float) -> None:
    assert coverage({"ticket": 2.0, "price": 0.5}, terms) == share


def test_a_question_without_terms_is_covered_by_nothing() -> None:
    assert coverage({}, {"ticket"}) == 0.0
