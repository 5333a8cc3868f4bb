"""The passage that supports a statement best."""

import pytest

from generator.citations.statements import Wording
from generator.citations.support import Passages

TEXT = (
    "The company sells tools. Revenue of the company grew by 12% in 2023. Costs of the company did not grow in 2023.\n"
    "The board met twice in Vienna. It elected Anna Berger as its chair."
)
CHINESE = "公司销售工具。公司收入在2023年增长了12%。公司成本没有增长。"


def support(statement: str, text: str = TEXT) -> str | None:
    span = Passages(text).support(Wording(statement))
    return None if span is None else text[slice(*span)]


def test_the_sentence_with_most_of_the_words_supports_a_statement() -> None:
    assert support("In 2023 the company's revenue grew by 12 percent") == "Revenue of the company grew by 12% in 2023."


def test_two_adjacent_sentences_support_what_neither_does_alone() -> None:
    passage = support("The board met in Vienna and elected Anna Berger chair")

    assert passage == "The board met twice in Vienna. It elected Anna Berger as its chair."


def test_a_chinese_sentence_supports_a_chinese_statement() -> None:
    assert support("2023年公司收入增长12%", CHINESE) == "公司收入在2023年增长了12%。"


@pytest.mark.parametrize(
    "statement",
    [
        "In 2023 the company's revenue grew by 13 percent",
        "In 2023 the company's revenue grew by 12",
        "In 2023 the company's revenue did not grow by 12%",
        "The costs of the company grew in 2023",
        "The weather in Vienna was fine all year",
        "公司收入增长",
        "Yes",
        "",
    ],
)
def test_another_number_a_denial_and_too_few_words_have_no_support(statement: str) -> None:
    assert support(statement) is None


def test_a_statement_longer_than_any_sentence_is_not_looked_for() -> None:
    sentence = "Revenue of the company grew by 12% in 2023, "

    assert support(sentence * 20) is not None
    assert support(sentence * 25) is None


def test_of_equally_good_sentences_the_first_is_taken() -> None:
    passages = Passages("Costs fell sharply. Costs fell sharply.")

    assert passages.support(Wording("costs fell sharply")) == (0, 19)
