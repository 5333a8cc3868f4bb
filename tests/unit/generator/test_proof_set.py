"""Quotes from the project's own sample documents, changed in every known way: each verdict is right."""

from functools import cache
from pathlib import Path

import pytest

import embedded
from citewire.contracts.evidence import Verdict
from generator.citations.verify import Proof, Prover
from quote_variations import Sample, make_samples

SAMPLES = Path(embedded.__file__).parent / "samples"
PROVED = {Verdict.EXACT, Verdict.NORMALISED}
KINDS = 11
ROUNDS = 15


def texts_of(knowledge_base: str) -> list[str]:
    """Passages of 1,200 characters of its text files."""
    texts = [
        path.read_text()
        for path in sorted((SAMPLES / knowledge_base / "documents").iterdir())
        if path.suffix in {".md", ".txt"}
    ]
    return [text[start : start + 1_200] for text in texts for start in range(0, len(text) - 300, 1_200)]


@cache
def judged(knowledge_base: str) -> list[tuple[Sample, Proof]]:
    """Samples of all kinds with what was said of them, always the same ones."""
    texts = texts_of(knowledge_base)
    sources, outside = dict(enumerate(texts[:-5], start=1)), texts[-5:]
    prover = Prover(sources)
    samples = [sample for seed in range(ROUNDS) for sample in make_samples(sources, outside, seed)]
    return [(sample, prover.prove(sample.quote, sample.number)) for sample in samples]


@pytest.mark.parametrize("knowledge_base", ["handbook", "baike"])
def test_c15_nothing_changed_is_ever_proved(knowledge_base: str) -> None:
    changed = [(sample, proof) for sample, proof in judged(knowledge_base) if sample.right.isdisjoint(PROVED)]

    assert len(changed) == ROUNDS * 6
    assert [sample for sample, proof in changed if proof.verdict in PROVED] == []


@pytest.mark.parametrize("knowledge_base", ["handbook", "baike"])
def test_c15_the_verdict_is_right_on_every_kind_of_quote(knowledge_base: str) -> None:
    wrong = [(sample, proof) for sample, proof in judged(knowledge_base) if proof.verdict not in sample.right]

    assert len({sample.kind for sample, _ in judged(knowledge_base)}) == KINDS
    assert wrong == []


@pytest.mark.parametrize("knowledge_base", ["handbook", "baike"])
def test_a_proved_quote_is_found_where_it_was_cut_from(knowledge_base: str) -> None:
    proved = [(sample, proof) for sample, proof in judged(knowledge_base) if proof.verdict in PROVED]

    assert [(proof.start, proof.end) for _, proof in proved] == [sample.place for sample, _ in proved]
