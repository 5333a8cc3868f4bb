import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewire.text.reasoning import ReasoningFilter

FRAGMENTS = (
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<reasoning>",
    "</reasoning>",
    "<",
    ">",
    "/",
    "thi",
    "答",
    "a",
)


def shown(*pieces: str) -> str:
    reader = ReasoningFilter()
    return "".join([*map(reader.feed, pieces), reader.end()])


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("<think>first, the year</think>营收", "营收"),
        ("<thinking>a</thinking>b<reasoning>c</reasoning>d", "bd"),
        ("<THINK>a</Think>b", "b"),
        ("before<think>a</think>after", "beforeafter"),
        ("<think></think>b", "b"),
        ("<think>a\n\n</think>\n\nb", "\n\nb"),
        ("plain text", "plain text"),
        ("", ""),
    ],
)
def test_e07_what_stands_between_tags_of_reasoning_is_not_shown(text, visible):
    assert shown(text) == visible


@pytest.mark.parametrize(
    "text", ["a < b", "<b>bold</b>", "<thin", "x <think", "</thinker>", "<think >a", "<reasoning\n>", "<thin\u212a>"]
)
def test_text_that_only_resembles_a_tag_is_shown(text):
    assert shown(text) == text


def test_a_block_that_is_never_closed_hides_all_that_follows():
    assert shown("said <think>the user", " wants </thinkin", "g> more") == "said "


def test_a_closing_tag_without_a_block_is_dropped_alone():
    assert shown("a</think>b") == "ab"


def test_a_block_ends_with_its_own_closing_tag_only():
    assert shown("<think>I could write </reasoning> or <think> here</think>said") == "said"


@pytest.mark.parametrize(
    "text", ["<think>a < b</think>said <b>", "x<thinking>y</think></thinking>z<", "a</think>b<reasoning>c"]
)
def test_every_split_in_three_shows_the_same(text):
    whole = shown(text)

    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            assert shown(text[:first], text[first:second], text[second:]) == whole


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12), st.lists(st.integers(0, 80), max_size=8))
def test_no_split_of_any_text_shows_something_else(fragments, cuts):
    text = "".join(fragments)
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]

    pieces = [text[start:end] for start, end in itertools.pairwise(bounds)]

    assert shown(*pieces) == shown(text)


def test_text_without_tags_is_handed_on_at_once():
    reader = ReasoningFilter()

    assert [reader.feed(piece) for piece in ("Be", "cause", "\ud83d", "\x00")] == ["Be", "cause", "\ud83d", "\x00"]


def test_no_more_is_held_back_than_may_become_a_tag():
    reader = ReasoningFilter()

    assert [reader.feed(piece) for piece in ("a <th", "e end", " <", "b>")] == ["a ", "<the end", " ", "<b>"]


def test_a_long_hidden_block_takes_no_memory():
    reader = ReasoningFilter()
    reader.feed("<think>")

    for _ in range(10_000):
        reader.feed("thought " * 10)

    assert len(reader._held) < 16
