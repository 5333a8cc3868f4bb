"""Token counts without a network."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewire.text.tokens import CorruptRanksError, are_within, count_tokens, parse_ranks


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("Hello, world!", 4), ("tiktoken is great!", 6), ("antidisestablishmentarianism", 6), ("2 + 2 = 4", 7)],
)
def test_counts_are_those_of_o200k_base(text: str, count: int) -> None:
    assert count_tokens(text) == count


def test_s7_a_control_word_is_ordinary_text() -> None:
    assert count_tokens("<|endoftext|>") > 1


def test_lone_surrogates_and_nul_are_counted() -> None:
    assert count_tokens("a\ud800b\x00") > 0


def test_ranks_other_than_the_published_ones_are_refused() -> None:
    with pytest.raises(CorruptRanksError):
        parse_ranks(b"IQ== 0\n")


@pytest.mark.parametrize("unit", ["a", "A", " ", "\n", " \t", "^", "检", "aB", "😀"])
def test_g05_a_million_characters_without_a_word_are_counted(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()

    count = count_tokens(text)

    assert count > 0
    assert time.process_time() - start < 20


@given(st.text(max_size=100))
def test_no_text_has_more_tokens_than_bytes(text: str) -> None:
    assert count_tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("texts", "most", "expected"),
    [((), 0, True), (("hello world",), 2, True), (("hello world",), 1, False), (("hello", " world"), 2, True)],
)
def test_texts_are_within_a_limit_by_their_tokens_together(texts: tuple[str, ...], most: int, expected: bool) -> None:
    assert are_within(texts, most) is expected
