"""What becomes of the replies to a test set's queries."""

from uuid import UUID

import pytest

from citewire.cli.eval_report import Asked, figures, times
from citewire.cli.eval_set import JudgedQuery
from citewire.contracts.evidence import ExplainedHit, Leg
from citewire.contracts.requests import SearchReply

DOCUMENTS = {"0.md": "a", "1.md": "b"}
LEXICAL = Leg(kb_id="kb", leg="lexical", hits=2, elapsed_ms=3)


def hit(file_name: str, ordinal: int, lexical: int | None, dense: int | None, fused: float) -> ExplainedHit:
    return ExplainedHit(
        query=0,
        doc_id=UUID(int=1),
        file_name=file_name,
        title="",
        ordinal=ordinal,
        start=0,
        end=1,
        lexical_rank=lexical,
        dense_rank=dense,
        fused=fused,
        similarity=fused,
    )


def asked(gains: dict[str, int], *hits: ExplainedHit, legs: tuple[Leg, ...] = (LEXICAL,), ms: float = 10) -> Asked:
    return Asked(JudgedQuery("?", gains), SearchReply(segments=(), legs=legs, explained=hits), ms)


def test_each_leg_is_judged_by_its_own_ranks_and_the_whole_by_the_order_of_the_reply() -> None:
    found = figures([asked({"a": 1}, hit("1.md", 0, 2, 1, 0.9), hit("0.md", 0, 1, 2, 0.8))], DOCUMENTS)

    assert found["lexical"].ndcg_10 == pytest.approx(1)
    assert found["dense"].ndcg_10 == found["fused"].ndcg_10 == pytest.approx(0.6309, abs=1e-4)


def test_a_document_counts_once_with_its_best_chunk() -> None:
    hits = [hit("1.md", ordinal, ordinal + 1, None, 1 - ordinal / 10) for ordinal in range(9)]

    found = figures([asked({"a": 1}, *hits, hit("0.md", 0, 10, None, 0.05))], DOCUMENTS)

    assert found["fused"].ndcg_10 == pytest.approx(0.6309, abs=1e-4)


def test_a_leg_that_found_nothing_anywhere_is_not_listed() -> None:
    found = figures([asked({"a": 1}, hit("0.md", 0, 1, None, 0.9))], DOCUMENTS)

    assert found.keys() == {"lexical", "fused"}


def test_a_query_for_which_a_leg_found_nothing_counts_as_a_miss() -> None:
    found = figures([asked({"a": 1}, hit("0.md", 0, 1, 1, 0.9)), asked({"a": 1})], DOCUMENTS)

    assert found["dense"].recall_20 == 0.5


def test_the_time_of_a_leg_that_did_not_run_is_left_out() -> None:
    skipped = Leg(kb_id="kb", leg="dense", skipped="nothing is embedded yet")
    replies = [asked({"a": 1}, legs=(LEXICAL, skipped), ms=ms) for ms in (8, 9, 30)]

    taken = times(replies)

    assert taken.keys() == {"lexical", "search"}
    assert (taken["search"].p50_ms, taken["search"].p95_ms) == (9, 30)
    assert taken["lexical"].p95_ms == 3
