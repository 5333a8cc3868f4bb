"""Relevant segment extraction, also against an implementation that tries every run there is."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

import pytest

from citewire.contracts.retrieval import RSE_PRESETS, RseParams, resolve_rse_params
from retriever.rse.extraction import ChunkHit, ChunkRun, extract_runs, merge_touching

A, B = UUID(int=1), UUID(int=2)
Rankings = Sequence[Sequence[ChunkHit]]
Cell = Callable[[float], float]


def hit(doc_id: UUID, ordinal: int, similarity: float, length: int = 700) -> ChunkHit:
    return ChunkHit(doc_id, ordinal, length, similarity)


def spans(runs: Sequence[ChunkRun]) -> list[tuple[UUID, int, int]]:
    return [(run.doc_id, run.first, run.end) for run in runs]


def billionths(value: float) -> int:
    return round(value * 10**9)


class TryingAll:
    """Every run of every document is tried at each turn; documents have chunks behind their last hit."""

    def __init__(self, rankings: Rankings, params: RseParams, cell: Cell, spare: int) -> None:
        self.rankings, self.params, self.cell, self.spare = rankings, params, cell, spare
        ranks: dict[UUID, int] = {}
        for hits in rankings:
            for rank, found in enumerate(hits[: params.top_k_for_document_selection]):
                ranks[found.doc_id] = min(rank, ranks.get(found.doc_id, rank))
        self.documents = sorted(ranks, key=lambda doc_id: (ranks[doc_id], doc_id))

    def values(self, hits: Sequence[ChunkHit], doc_id: UUID) -> list[float]:
        size = 1 + max(found.ordinal for hits in self.rankings for found in hits if found.doc_id == doc_id)
        cells = [self.cell(-self.params.irrelevant_chunk_penalty)] * (size + self.spare)
        for rank, found in enumerate(hits):
            if found.doc_id == doc_id:
                length = max(found.length, 700) / 700 if self.params.chunk_length_adjustment else 1
                decayed = found.similarity * math.exp(-rank / self.params.decay_rate)
                cells[found.ordinal] = self.cell((decayed - self.params.irrelevant_chunk_penalty) * length)
        return cells

    def candidates(self, query: int, longest: int, taken: Sequence[ChunkRun]) -> Iterator[ChunkRun]:
        for doc_id in self.documents:
            cells = self.values(self.rankings[query], doc_id)
            used = {place for run in taken if run.doc_id == doc_id for place in range(run.first, run.end)}
            for first in range(len(cells)):
                for end in range(first + 1, min(first + longest, len(cells)) + 1):
                    if cells[first] >= 0 and cells[end - 1] >= 0 and used.isdisjoint(range(first, end)):
                        yield ChunkRun(doc_id, first, end, math.fsum(cells[first:end]))

    def runs(self) -> list[ChunkRun]:
        extension = (len(self.rankings) - 1) * self.params.overall_max_length_extension
        room = self.params.overall_max_length + extension
        turns, picked = list(range(len(self.rankings))), list[ChunkRun]()
        while turns and room > 0:
            query = turns.pop(0)
            longest = min(self.params.max_length, room)
            # Of equal values `max` takes the one that comes first.
            best = max(self.candidates(query, longest, picked), key=lambda run: run.score, default=None)
            if best is not None and best.score >= self.cell(self.params.minimum_value):
                picked.append(best)
                room -= best.end - best.first
                turns.append(query)
        return picked


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - the same cases in each run


def random_params(chance: random.Random) -> RseParams:
    return RseParams(
        max_length=chance.randint(1, 15),
        overall_max_length=chance.randint(1, 40),
        overall_max_length_extension=chance.randint(0, 5),
        minimum_value=chance.choice([0, 0.3, 0.5]),
        irrelevant_chunk_penalty=chance.choice([0.05, 0.18, 0.3]),
        decay_rate=chance.choice([5, 30, 200]),
        top_k_for_document_selection=chance.randint(1, 10),
        chunk_length_adjustment=chance.random() < 0.7,
    )


def random_rankings(chance: random.Random) -> Rankings:
    sizes = {UUID(int=number): chance.randint(1, 25) for number in range(chance.randint(1, 4))}
    return [
        [
            hit(doc_id, chance.randrange(sizes[doc_id]), chance.random(), chance.choice([100, 700, 1400]))
            for doc_id in chance.choices(list(sizes), k=chance.randint(0, 30))
        ]
        for _ in range(chance.randint(1, 4))
    ]


def with_few_values(chance: random.Random, rankings: Rankings, decay_rate: float) -> Rankings:
    """The same hits with similarities that, decayed, are among five: many runs then have equal values."""
    return [
        [
            found._replace(similarity=chance.choice([0, 0.1, 0.18, 0.3, 0.5]) * math.exp(rank / decay_rate))
            for rank, found in enumerate(hits)
        ]
        for hits in rankings
    ]


def test_the_runs_of_two_queries_are_those_worked_out_by_hand() -> None:
    first = [hit(A, 3, 0.9), hit(A, 4, 0.8), hit(B, 1, 0.7, length=1400), hit(A, 6, 0.6)]
    second = [hit(B, 2, 0.8), hit(A, 6, 0.7), hit(B, 0, 0.5)]

    runs = extract_runs([first, second])

    assert spans(runs) == [(A, 3, 7), (B, 0, 3)]
    assert [run.score for run in runs] == pytest.approx([1.4967, 0.7278], abs=5e-5)


@pytest.mark.parametrize("seed", range(150))
def test_the_runs_are_those_that_trying_all_gives(seed: int) -> None:
    chance = seeded(seed)
    params, rankings = random_params(chance), random_rankings(chance)

    runs = extract_runs(rankings, params)

    expected = TryingAll(rankings, params, cell=float, spare=seed % 3).runs()
    assert spans(runs) == spans(expected)
    assert [run.score for run in runs] == pytest.approx([run.score for run in expected], abs=1e-7)


@pytest.mark.parametrize("seed", range(150))
def test_of_runs_of_equal_value_the_one_that_trying_all_finds_first_is_picked(seed: int) -> None:
    chance = seeded(seed)
    params = random_params(chance)
    rankings = with_few_values(chance, random_rankings(chance), params.decay_rate)

    runs = extract_runs(rankings, params)

    expected = TryingAll(rankings, params, cell=billionths, spare=seed % 3).runs()
    assert spans(runs) == spans(expected)


def test_a_run_stays_in_one_document() -> None:
    runs = extract_runs([[hit(A, 0, 0.9), hit(B, 0, 0.9), hit(A, 1, 0.9), hit(B, 1, 0.9)]])

    assert spans(runs) == [(A, 0, 2), (B, 0, 2)]


def test_documents_that_rank_equally_stand_in_the_order_of_their_ids() -> None:
    equal = [hit(B, 5, 0.9), hit(A, 5, 0.9 * math.exp(1 / 30))]

    runs = extract_runs([[hit(A, 0, 0.1)], equal])

    assert spans(runs) == [(A, 5, 6), (B, 5, 6)]


def test_of_runs_of_equal_value_the_one_in_the_document_of_the_best_rank_is_picked() -> None:
    equal = [hit(B, 5, 0.9), hit(A, 5, 0.9 * math.exp(1 / 30))]

    assert spans(extract_runs([equal])) == [(B, 5, 6), (A, 5, 6)]


def test_a_document_that_no_query_ranks_high_gives_no_run() -> None:
    params = RseParams(top_k_for_document_selection=1)

    assert spans(extract_runs([[hit(A, 0, 0.9), hit(B, 0, 0.9)]], params)) == [(A, 0, 1)]


def test_a_document_that_another_query_ranks_high_gives_runs_to_all() -> None:
    params = RseParams(top_k_for_document_selection=1)

    runs = extract_runs([[hit(A, 0, 0.9), hit(B, 9, 0.9)], [hit(B, 0, 0.9)]], params)

    assert spans(runs) == [(A, 0, 1), (B, 0, 1), (B, 9, 10)]


def test_of_two_hits_of_one_chunk_the_later_one_counts() -> None:
    assert extract_runs([[hit(A, 0, 0.9), hit(A, 0, 0.2)]]) == []


def test_a_long_chunk_counts_more() -> None:
    hits = [hit(A, 0, 0.5, length=1400)]

    assert spans(extract_runs([hits])) == [(A, 0, 1)]


def test_lengths_count_nothing_without_their_adjustment() -> None:
    hits = [hit(A, 0, 0.5, length=1400)]

    assert extract_runs([hits], RseParams(chunk_length_adjustment=False)) == []


def test_a_value_of_exactly_the_minimum_is_enough() -> None:
    # As floats, 0.6 - 0.05 is less than 0.55.
    params = RseParams(irrelevant_chunk_penalty=0.05, minimum_value=0.55)

    assert spans(extract_runs([[hit(A, 0, 0.6)]], params)) == [(A, 0, 1)]


def test_the_total_grows_with_each_further_query() -> None:
    params = RseParams(max_length=1, overall_max_length=2, overall_max_length_extension=3)
    hits = [hit(A, 2 * place, 0.9) for place in range(10)]

    assert len(extract_runs([hits], params)) == 2
    assert len(extract_runs([hits, hits], params)) == 5


def test_a_shorter_run_is_picked_when_the_best_does_not_fit_the_rest_of_the_total() -> None:
    params = RseParams(max_length=3, overall_max_length=4)
    hits = [hit(A, 0, 0.9), hit(A, 1, 0.9), hit(A, 2, 0.9), hit(B, 0, 0.85), hit(B, 1, 0.85)]

    assert spans(extract_runs([hits], params)) == [(A, 0, 3), (B, 0, 1)]


def test_no_query_has_no_runs() -> None:
    assert extract_runs([]) == []


def test_queries_without_hits_have_no_runs() -> None:
    assert extract_runs([[], []]) == []


def test_finding_all_takes_far_hits_of_a_long_document_one_by_one() -> None:
    hits = [hit(A, 97 * place, 0.95) for place in range(100)]

    runs = extract_runs([hits], RSE_PRESETS["find_all"])

    assert spans(runs) == [(A, 97 * place, 97 * place + 1) for place in range(len(runs))]
    assert len(runs) > 90


def test_finding_all_takes_hits_that_are_near_to_each_other_together() -> None:
    hits = [hit(A, 1000 * (place // 20) + 2 * (place % 20), 0.95) for place in range(80)]

    runs = extract_runs([hits], RSE_PRESETS["find_all"])

    assert sorted(spans(runs)) == [(A, 1000 * part, 1000 * part + 39) for part in range(4)]


def test_touching_runs_of_a_document_become_one_with_the_highest_score() -> None:
    runs = [ChunkRun(A, 2, 17, 3.0), ChunkRun(B, 0, 1, 2.5), ChunkRun(A, 17, 19, 1.0), ChunkRun(A, 0, 2, 4.0)]

    assert merge_touching(runs) == [ChunkRun(A, 0, 19, 4.0), ChunkRun(B, 0, 1, 2.5)]


def test_runs_with_a_chunk_between_them_stay_apart() -> None:
    runs = [ChunkRun(A, 3, 4, 1.0), ChunkRun(A, 0, 2, 2.0)]

    assert merge_touching(runs) == runs


def test_runs_of_different_documents_stay_apart() -> None:
    runs = [ChunkRun(A, 0, 2, 1.0), ChunkRun(B, 2, 4, 2.0)]

    assert merge_touching(runs) == runs


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("balanced", (15, 30, 5, 0.5, 0.18, 30, 10)),
        ("precision", (15, 30, 5, 0.7, 0.2, 30, 10)),
        ("find_all", (40, 200, 0, 0.4, 0.18, 200, 200)),
    ],
)
def test_a_preset_has_its_values(name: str, values: tuple[float, ...]) -> None:
    assert tuple(resolve_rse_params(name).model_dump().values()) == (*values, True)


def test_what_a_dict_does_not_name_is_as_balanced() -> None:
    assert resolve_rse_params({}) == RseParams()
    assert resolve_rse_params({"max_length": 3}) == RseParams().model_copy(update={"max_length": 3})


@pytest.mark.parametrize("name", ["", "precise", "comprehensive", "Balanced", "x" * 100_000, "\ud800\x00"])
def test_an_unknown_preset_is_an_error_that_lists_the_presets(name: str) -> None:
    with pytest.raises(ValueError, match="balanced, precision, find_all") as caught:
        resolve_rse_params(name)

    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("maximum", 1),
        ("x" * 100_000, 1),
        ("max_length", 0),
        ("max_length", "15"),
        ("max_length", 1.5),
        ("max_length", True),
        ("max_length", None),
        ("overall_max_length", 10**9),
        ("overall_max_length_extension", -1),
        ("minimum_value", math.nan),
        ("irrelevant_chunk_penalty", 0),
        ("decay_rate", 0),
        ("decay_rate", math.inf),
        ("top_k_for_document_selection", []),
        ("chunk_length_adjustment", 1),
    ],
)
def test_a_wrong_parameter_is_an_error_that_names_it(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=key[:40]) as caught:
        resolve_rse_params({key: value})

    assert len(str(caught.value)) < 600
