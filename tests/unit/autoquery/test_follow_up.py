"""When a question leans on what was said before."""

import pytest

from autoquery.follow_up import is_follow_up, is_short, retrieval_context
from citewire.contracts.sessions import Turn

HISTORY = (Turn(question="2023 年营收是多少", answer="- 营收为 3 亿元 [1]"),)


@pytest.mark.parametrize(
    "question",
    ["那它的利润呢", "这个呢？", "刚才说的是哪一年？", "what about its price?", "How about 2024?", "Who founded it?"],
)
def test_a_short_question_that_refers_back_is_a_follow_up(question: str) -> None:
    assert is_follow_up(question, HISTORY)


@pytest.mark.parametrize(
    "question",
    [
        "其他城市有哪些地铁线路",
        "尤其适合新手的语言",
        "应该如何申请休假",
        "其中包括哪些费用",
        "What is the travel policy?",
        "Is it true that the company that makes bolts pays for all of its own travel?",
        "Amazon rainforest area",
    ],
)
def test_e05_a_question_that_stands_alone_is_none(question: str) -> None:
    assert not is_follow_up(question, HISTORY)


def test_e05_a_long_question_is_never_expanded_even_when_it_refers() -> None:
    question = "它在二零二三年第四季度的营业收入和净利润分别是多少亿元人民币"

    assert retrieval_context(question, HISTORY) == ()


def test_without_history_nothing_can_be_referred_to() -> None:
    assert not is_follow_up("那它的利润呢", ())


def test_e04_the_earlier_question_joins_the_retrieval() -> None:
    assert retrieval_context("那它的利润呢", HISTORY) == ("2023 年营收是多少",)


def test_the_newest_earlier_question_comes_first() -> None:
    history = (Turn(question="first", answer=""), Turn(question="second", answer=""))

    assert retrieval_context("what about it?", history) == ("second", "first")


@pytest.mark.parametrize(
    ("question", "short"), [("字" * 23, True), ("字" * 24, False), ("a " * 8, True), ("a " * 9, False)]
)
def test_short_means_23_characters_or_8_words(question: str, short: bool) -> None:
    assert is_short(question) is short
