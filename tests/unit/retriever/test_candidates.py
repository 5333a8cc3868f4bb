"""One ranking of what the legs found."""

import pytest

from citewire.contracts.retrieval import RetrievalSettings
from citewire.text.scripts import Script
from retriever.candidates import Dense, put_together
from retriever.index.fusion import adapted_dense_weight
from retriever.passages import Hit

SETTINGS = RetrievalSettings(dense_weight=0.4, cross_script_dense_weight=0.8)
NEAREST = [Hit(1, 0.9), Hit(2, 0.8)]
WORDS = [Hit(2, 9.0), Hit(1, 3.0)]
USUAL = adapted_dense_weight(0.4, WORDS, NEAREST)


def share(question: str, searched: Script | None, known: float = 1.0) -> float:
    return put_together(question, WORDS, Dense(NEAREST, known, searched), SETTINGS).share


@pytest.mark.parametrize(
    ("question", "searched", "expected"),
    [
        ("What is it?", Script.LATIN, USUAL),
        ("这是什么？", Script.LATIN, 0.8),
        ("42?", Script.LATIN, USUAL),
        ("这是什么？", None, USUAL),
    ],
)
def test_vectors_weigh_more_across_scripts(question: str, searched: Script | None, expected: float) -> None:
    assert share(question, searched) == expected


def test_vectors_weigh_less_as_long_as_some_are_missing() -> None:
    assert share("What is it?", Script.LATIN, known=0.5) == USUAL / 2


def test_without_vectors_the_best_by_words_has_the_highest_score() -> None:
    found = put_together("What is it?", [Hit(1, 9.0), Hit(2, 1.0)], Dense([], 0.0, None), SETTINGS)

    assert [(fused.chunk_id, fused.score) for fused in found.ranking(2)] == [(1, 1.0), (2, 0.0)]


def test_a_question_in_another_script_is_judged_by_its_vectors_alone() -> None:
    dense = Dense(NEAREST, 1.0, Script.LATIN)

    found = put_together("这是什么？", [], dense, SETTINGS)

    assert found.evidence(coverage=0.0) == found.evidence(coverage=1.0)
    assert found.evidence(coverage=0.0).similarity(found.share) > 0.5


def test_vectors_without_weight_leave_the_judgement_to_the_words() -> None:
    settings = RetrievalSettings(dense_weight=0, cross_script_dense_weight=0)

    found = put_together("这是什么？", [Hit(1, 9.0)], Dense(NEAREST, 1.0, Script.LATIN), settings)

    assert 0 < found.evidence(coverage=0.0).similarity(1.0) < found.evidence(coverage=1.0).similarity(1.0) < 1
