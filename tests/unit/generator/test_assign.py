"""Which marker a quote belongs to."""

from generator.citations.assign import MOST_COMPARED, assign_quotes
from generator.citations.statements import Wording

STATEMENTS = [Wording("Revenue grew in the north"), Wording("Costs fell in the south"), Wording("Staff stayed")]


def test_a_quote_goes_to_the_statement_that_it_shares_most_with() -> None:
    assert assign_quotes(["Costs in the south fell.", "Revenue in the north grew."], STATEMENTS) == [1, 0]


def test_quotes_that_share_nothing_go_to_the_statements_in_order() -> None:
    assert assign_quotes(["收入增长了", "成本下降了", "员工"], STATEMENTS) == [0, 1, 2]


def test_of_equally_good_statements_one_without_a_quote_comes_first() -> None:
    statements = [Wording("Costs fell"), Wording("Costs fell")]

    assert assign_quotes(["Costs fell.", "costs fell"], statements) == [0, 1]


def test_a_second_quote_may_go_to_the_statement_that_it_supports() -> None:
    assert assign_quotes(["Costs fell there.", "The south saw costs fall."], STATEMENTS) == [1, 1]


def test_a_flood_of_quotes_goes_in_order_and_is_not_compared() -> None:
    assert assign_quotes(["Staff stayed."] * MOST_COMPARED, STATEMENTS) == [0, 1, *[2] * (MOST_COMPARED - 2)]
