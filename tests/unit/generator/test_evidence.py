"""From segments to numbered sources."""

from uuid import uuid4

from builders import found, segment, source
from citewire.contracts.evidence import ExclusionReason, QualityLevel
from generator.evidence import Budget, build_evidence, collect_legs, failed_kbs, judge_quality

QUESTION = uuid4()
WIDE = Budget(characters_per_kb=10_000, characters=20_000, tokens=20_000, sources=40)


def test_c20_the_same_passage_from_two_knowledge_bases_is_one_source() -> None:
    results = [
        found(QUESTION, kb, segment("Revenue grew.", kb_id=kb), segment(kb * 9, kb_id=kb, doc="x")) for kb in "ab"
    ]

    evidence = build_evidence(results, WIDE)

    assert [source.number for source in evidence.sources] == [1, 2, 3]
    assert [exclusion.reason for exclusion in evidence.excluded] == [ExclusionReason.OVERLAP]


def test_passages_of_one_document_come_in_text_order_documents_by_first_appearance() -> None:
    result = found(
        QUESTION,
        "kb",
        segment("late", doc="b", start=500),
        segment("only", doc="a"),
        segment("early", doc="b", start=0),
    )

    evidence = build_evidence([result], WIDE)

    assert [source.text for source in evidence.sources] == ["early", "late", "only"]


def test_overlapping_passages_of_one_document_are_not_both_taken() -> None:
    result = found(QUESTION, "kb", segment("abcdef", start=0), segment("defghi", start=3))

    assert len(build_evidence([result], WIDE).sources) == 1


def test_what_does_not_fit_is_left_out_whole_and_later_ones_still_fit() -> None:
    budget = Budget(characters_per_kb=100, characters=100, tokens=1000, sources=40)
    result = found(QUESTION, "kb", segment("a" * 60, doc="a"), segment("b" * 60, doc="b"), segment("c" * 30, doc="c"))

    evidence = build_evidence([result], budget)

    assert [len(source.text) for source in evidence.sources] == [60, 30]
    assert evidence.excluded[0].reason is ExclusionReason.BUDGET


def test_one_knowledge_base_cannot_take_the_share_of_another() -> None:
    budget = Budget(characters_per_kb=50, characters=100, tokens=1000, sources=40)
    results = [found(QUESTION, kb, *(segment(f"{kb}{n}" * 20, kb_id=kb, doc=str(n)) for n in range(3))) for kb in "ab"]

    evidence = build_evidence(results, budget)

    assert [source.kb_id for source in evidence.sources] == ["a", "b"]


def test_the_token_budget_counts_tokens_where_bytes_do_not_settle_it() -> None:
    budget = Budget(characters_per_kb=1000, characters=1000, tokens=100, sources=40)
    result = found(QUESTION, "kb", segment("word " * 30, doc="a"), segment("other " * 30, doc="b"))

    evidence = build_evidence([result], budget)

    assert len(evidence.sources) == 1


def test_e12_the_number_of_sources_has_a_limit_over_all() -> None:
    budget = Budget(characters_per_kb=10_000, characters=10_000, tokens=10_000, sources=3)
    result = found(QUESTION, "kb", *(segment(f"text {n}", doc=str(n)) for n in range(5)))

    evidence = build_evidence([result], budget)

    assert len(evidence.sources) == 3
    assert {exclusion.reason for exclusion in evidence.excluded} == {ExclusionReason.LIMIT}


def test_no_source_is_no_evidence() -> None:
    assert judge_quality("Why?", ()).level is QualityLevel.NONE


def test_sources_that_share_little_with_the_question_are_weak() -> None:
    quality = judge_quality("Who discovered oxygen in the eighteenth century?", [source(1, "Oxygen is a gas.")])

    assert quality.level is QualityLevel.WEAK


def test_sources_that_cover_the_question_are_ok() -> None:
    quality = judge_quality("谁发现了氧气", [source(1, "舍勒在 1772 年发现了氧气。")])

    assert quality.level is QualityLevel.OK


def test_b15_a_failed_knowledge_base_is_reported_beside_the_others() -> None:
    results = {"a": found(QUESTION, "a", error="index is broken"), "b": found(QUESTION, "b", segment("fact"))}

    legs = collect_legs(["a", "b"], results)

    assert [(leg.kb_id, leg.error) for leg in legs] == [("a", "index is broken"), ("b", None)]
    assert failed_kbs(["a", "b"], results) == ("a: index is broken",)


def test_a_knowledge_base_without_an_answer_in_time_is_reported() -> None:
    (leg,) = collect_legs(["slow"], {})

    assert (leg.kb_id, leg.error) == ("slow", "no answer in time")
