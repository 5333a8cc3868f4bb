import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewire.contracts.evidence import Verdict
from generator.citations.verify import Found, QuoteCheck, check_quote, locate

SOURCES = {
    1: "Revenue rose to 12 million in 2023. Costs fell by 3%. Staff numbers did not change.",
    2: "The board met twice. Revenue of the unit was flat.",
    3: "收入增长了百分之十二。成本下降。",
}


def test_an_exact_quote_is_found_where_it_stands():
    check = check_quote("Costs fell by 3%.", 1, SOURCES)

    assert check == QuoteCheck(Verdict.EXACT, 1, 36, 53)


def test_case_and_typography_make_a_quote_normalised():
    source = {1: "He said: “It’s a well–known   fact”."}

    check = check_quote('"it\'s a well-known fact"', 1, source)

    assert check == QuoteCheck(Verdict.NORMALISED, 1, 9, 35)


def test_a_quote_from_another_source_is_misattributed():
    check = check_quote("The board met twice.", 1, SOURCES)

    assert check == QuoteCheck(Verdict.MISATTRIBUTED, 2, 0, 20)


def test_a_quote_from_a_source_that_was_not_given_is_misattributed():
    assert check_quote("The board met twice.", 9, SOURCES).verdict is Verdict.MISATTRIBUTED


@pytest.mark.parametrize(
    "quote",
    [
        "Revenue rose to 12 million in 2023. Staff numbers did not change.",
        "Revenue rose to 12 million … Staff numbers did not change.",
        "Staff numbers did not change. The board met twice.",
        "Revenue rose to 12 million, the board met twice",
        "成本下降。收入增长了百分之十二。",
    ],
)
def test_parts_that_do_not_stand_together_are_stitched(quote):
    assert check_quote(quote, 1, SOURCES) == QuoteCheck(Verdict.STITCHED)


@pytest.mark.parametrize("quote", ["", "  \n", "Profit doubled.", "Revenue rose sharply", "İ" * 50, "\ud800\0"])
def test_words_of_no_source_are_not_found(quote):
    assert check_quote(quote, 1, SOURCES) == QuoteCheck(Verdict.NOT_FOUND)


@pytest.mark.parametrize(
    "quote",
    [
        "Revenue rose to 13 million in 2023.",
        "Revenue rose to 12 million in 2024.",
        "Revenue rose to 1 million in 2023.",
        "Revenue rose to 12 million in 2023. Costs fell by 4%.",
    ],
)
def test_c15_one_digit_off_is_not_found(quote):
    assert check_quote(quote, 1, SOURCES).verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize("quote", ["2 million in 2023", "Revenue rose to 1", "12 million in 202"])
def test_c15_a_number_cut_short_is_not_found(quote):
    assert locate(quote, SOURCES[1]) is None


def test_c15_a_whole_number_after_a_cut_one_is_found():
    assert locate("5 million", "15 million, 1.5 million, 5 million") == Found(25, 34, is_exact=True)


def test_c17_offsets_stay_exact_after_a_letter_that_folds_to_two():
    text = "İİİİİ The revenue rose"

    found = locate("the REVENUE rose", text)

    assert found == Found(6, 22, is_exact=False)


def test_c17_a_letter_that_folds_to_two_is_found_whole():
    found = locate("i̇i̇ the", "xİİ The")

    assert found == Found(1, 7, is_exact=False)


def test_d07_a_quote_over_a_line_break_and_hyphenation_is_one_range():
    text = "A transfor-\nmation of the\n  market."

    found = locate("transformation of the market", text)

    assert found == Found(2, 34, is_exact=False)


@given(
    st.text(), st.text(min_size=1).filter(lambda quote: quote.strip() and not any(map(str.isdecimal, quote))), st.text()
)
def test_a_slice_of_a_text_is_found_exactly(before, quote, after):
    text = before + quote + after

    found = locate(quote, text)

    assert found is not None
    assert found.is_exact
    assert text[found.start : found.end] == quote
