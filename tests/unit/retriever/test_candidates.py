"""One ranking of what the legs found."""

import pytest

from citewire.contracts.retrieval import RetrievalSettings
from citewire.text.scripts import Script
from retriever.candidates import dense_share

SETTINGS = RetrievalSettings(dense_weight=0.4, cross_script_dense_weight=0.7)


@pytest.mark.parametrize(
    ("question", "searched", "share"),
    [
        ("What is it?", Script.LATIN, 0.4),
        ("这是什么？", Script.LATIN, 0.7),
        ("42?", Script.LATIN, 0.4),
        ("这是什么？", None, 0.4),
    ],
)
def test_vectors_weigh_more_across_scripts(question: str, searched: Script | None, share: float) -> None:
    assert dense_share(question, searched, 1.0, SETTINGS) == share


def test_vectors_weigh_less_as_long_as_some_are_missing() -> None:
    assert dense_share("What is it?", Script.LATIN, 0.5, SETTINGS) == 0.2
