"""Whether a quote stands in the source it names."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewire.contracts.evidence import Verdict
from generator.citations.verify import LONGEST_QUOTE, NOT_FOUND, Piece, Proof, Prover

SOURCES = {
    1: "Revenue rose to 12 million in 2023. Costs fell by 3%. Staff numbers did not change.",
    2: "The board met twice. Revenue of the unit was flat.",
    3: "收入增长了百分之十二。成本下降。",
}


def prove(quote: str, number: int = 1, sources: dict[int, str] = SOURCES) -> Proof:
    return Prover(sources).prove(quote, number)


def prove_in(quote: str, text: str) -> Proof:
    return Prover({1: text}).prove(quote, 1)


def test_an_exact_quote_is_found_where_it_stands() -> None:
    assert prove("Costs fell by 3%.") == Proof(Verdict.EXACT, 36, 53)


def test_white_space_around_a_quote_is_no_part_of_it() -> None:
    assert prove("\n Costs fell by 3%. ") == Proof(Verdict.EXACT, 36, 53)


def test_case_and_typography_make_a_quote_normalised() -> None:
    proof = prove_in('"it\'s a well-known fact"', "He said: “It’s a well–known   fact”.")

    assert proof == Proof(Verdict.NORMALISED, 9, 35)


def test_a_marker_made_harmless_is_still_the_marker_of_the_source() -> None:
    proof = prove_in("as others found (2), costs fell", "Indeed, as others found [2], costs fell.")

    assert proof == Proof(Verdict.NORMALISED, 8, 39)


def test_d07_a_quote_over_a_line_break_and_hyphenation_is_one_range() -> None:
    proof = prove_in("transformation of the market", "A transfor-\nmation of the\n  market.")

    assert proof == Proof(Verdict.NORMALISED, 2, 34)


@pytest.mark.parametrize(
    "quote",
    ['"Costs fell by 3%"', "Costs fell by 3%...", "… Costs fell by 3%,", "(Costs fell by 3%)", "Costs fell by 3%;"],
)
def test_what_surrounds_a_quote_is_left_out(quote: str) -> None:
    assert prove(quote) == Proof(Verdict.NORMALISED, 36, 52)


def test_c17_offsets_stay_exact_after_a_letter_that_folds_to_two() -> None:
    assert prove_in("the REVENUE rose", "İİİİİ The revenue rose") == Proof(Verdict.NORMALISED, 6, 22)


def test_c17_a_letter_that_folds_to_two_is_found_whole() -> None:
    assert prove_in("i̇i̇ the", "x İİ The") == Proof(Verdict.NORMALISED, 2, 8)


def test_a_place_of_the_same_characters_comes_before_an_earlier_one() -> None:
    assert prove_in("Costs fell.", "COSTS FELL. Costs fell.") == Proof(Verdict.EXACT, 12, 23)


def test_the_page_asked_for_chooses_among_places_of_the_same_words() -> None:
    prover = Prover({1: "Costs fell. Costs fell. Costs fell."})

    assert prover.prove("Costs fell.", 1, within=(12, 24)) == Proof(Verdict.EXACT, 12, 23)
    assert prover.prove("Costs fell.", 1, within=(90, 99)) == Proof(Verdict.EXACT, 0, 11)


def test_a_quote_from_another_source_is_misattributed() -> None:
    assert prove("the board  met twice.") == Proof(Verdict.MISATTRIBUTED, pieces=(Piece(2, 0, 20),))


def test_a_quote_from_a_source_that_was_not_given_is_misattributed() -> None:
    assert prove("The board met twice.", 9) == Proof(Verdict.MISATTRIBUTED, pieces=(Piece(2, 0, 20),))


def test_of_several_other_sources_the_lowest_number_is_named() -> None:
    proof = prove("Costs fell.", 1, {3: "Costs fell.", 2: "So: Costs fell.", 1: "x"})

    assert proof.pieces == (Piece(2, 4, 15),)


@pytest.mark.parametrize(
    ("quote", "parts"),
    [
        (
            "Revenue rose to 12 million in 2023. Staff numbers did not change.",
            ["Revenue rose to 12 million in 2023", "Staff numbers did not change"],
        ),
        (
            "Revenue rose to 12 million … Staff numbers did not change.",
            ["Revenue rose to 12 million", "Staff numbers did not change"],
        ),
        ("Staff numbers did not change. The board met twice.", ["Staff numbers did not change", "The board met twice"]),
        ("Revenue rose to 12 million, the board met twice", ["Revenue rose to 12 million", "The board met twice"]),
        ("成本下降。收入增长了百分之十二。", ["成本下降", "收入增长了百分之十二"]),
    ],
)
def test_parts_that_do_not_stand_together_are_stitched(quote: str, parts: list[str]) -> None:
    proof = prove(quote)

    assert (proof.verdict, proof.start) == (Verdict.STITCHED, None)
    assert [SOURCES[piece.number][piece.start : piece.end] for piece in proof.pieces] == parts


def test_a_piece_is_taken_from_the_source_that_is_named_if_it_stands_there() -> None:
    same = "Staff numbers did not change in the year."
    sources = {1: same, 2: f"{same} And the board of the unit met twice."}

    proof = prove("Staff numbers did not change … the board of the unit met twice", 2, sources)

    assert [piece.number for piece in proof.pieces] == [2, 2]


def test_parts_that_are_too_short_prove_nothing() -> None:
    assert prove("Revenue of the board") == NOT_FOUND


def test_a_sign_between_two_parts_is_not_passed_over() -> None:
    text = "In 1974, 20% of all stations had no petrol at all left."

    assert prove_in("In 1974, 20%% of all stations had no petrol at all left.", text) == NOT_FOUND


@pytest.mark.parametrize(
    "quote",
    ["Profit doubled.", "Revenue rose sharply", "İ" * 50, "\ud800\0", "", "  \n", "。", "…—!?", "x", "**", "[1]", "是"],
)
def test_words_of_no_source_are_not_found(quote: str) -> None:
    assert prove(quote) == NOT_FOUND


@pytest.mark.parametrize("quote", ["x", ".", "是", "\U0001f600"])
def test_a_single_character_is_no_quote(quote: str) -> None:
    assert prove_in(quote, f"a {quote} b") == NOT_FOUND


def test_a_quote_may_be_so_long_and_no_longer() -> None:
    text = "word " * LONGEST_QUOTE

    assert prove_in(text[: LONGEST_QUOTE - 1], text).verdict is Verdict.EXACT
    assert prove_in(text[: LONGEST_QUOTE + 4], text) == NOT_FOUND


@pytest.mark.parametrize(
    "quote",
    [
        "Revenue rose to 13 million in 2023.",
        "Revenue rose to 12 million in 2024.",
        "Revenue rose to 1 million in 2023.",
        "Revenue rose to 1.2 million in 2023.",
        "Revenue rose to -12 million in 2023.",
        "Revenue rose to 12 million in 2023. Costs fell by 4%.",
        "Revenue rose to 12 million in 2023. Costs fell by 3.",
    ],
)
def test_c15_another_number_is_not_found(quote: str) -> None:
    assert prove(quote) == NOT_FOUND


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("5 million people", "There were 15 million people."),
        ("5 million people", "There were 1.5 million people."),
        ("200 people", "There were 1,200 people."),
        ("It rose to 12", "It rose to 123."),
        ("It rose to 12", "It rose to 12.5 points."),
        ("It rose to 12", "It rose to 12% at last."),
        ("It rose to 12", "It rose to 12 percent at last."),
        ("It rose to 12", "It rose to 12 million."),
        ("It rose to 12", "It rose to 12/5."),
        ("It rose to 10", "It rose to 10² of them."),
        ("five degrees", "It was twenty-five degrees."),
        ("hundred people came", "Two hundred people came."),
        ("It was five", "It was five hundred."),
        ("5 degrees", "It was −5 degrees."),
        ("5 degrees", "约为-5 degrees"),
        ("$5 million", "A loss of -$5 million"),
        ("万人参加", "共有十五万人参加了"),
        ("五万人参加", "共有十五万人参加了"),
        ("增长了百分之十", "增长了百分之十二"),
        ("增长了3", "增长了3万"),
        ("增长了３", "增长了３．５"),
    ],
)
def test_c15_a_number_cut_short_is_not_found(quote: str, text: str) -> None:
    assert prove_in(quote, text) == NOT_FOUND


def test_c15_a_whole_number_after_a_cut_one_is_found() -> None:
    assert prove_in("5 million", "15 million, 1.5 million, 5 million") == Proof(Verdict.EXACT, 25, 34)


def test_c15_a_quote_may_begin_with_the_number_behind_a_bullet() -> None:
    assert prove_in("5 boards met", "The year:\n- 5 boards met") == Proof(Verdict.EXACT, 12, 24)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("Staff numbers did change", "Staff numbers did not change."),
        ("Staff numbers did not grow", "Staff numbers did grow."),
        ("approved by the board", "It was not approved by the board."),
        ("approved by the board", "It wasn’t approved by the board."),
        ("approved by the board", "It had not yet been approved by the board."),
        ("evidence of harm", "There is no evidence of harm."),
        ("legal in this country", "It is illegal in this country."),
        ("profit organisations", "These are non-profit organisations."),
        ("The board can", "The board cannot decide."),
        ("The board can", "The board can't decide."),
        ("可以参加会议", "他不可以参加会议。"),
        ("参加会议", "他没有参加会议。"),
        ("成本下降了", "成本没有下降了"),
    ],
)
def test_c15_a_negation_more_or_less_is_not_found(quote: str, text: str) -> None:
    assert prove_in(quote, text) == NOT_FOUND


@pytest.mark.parametrize(
    ("quote", "text"),
    [("said Mr John", "said Mr Johnson"), ("son met the board", "Johnson met the board"), ("Mr Smyth", "Mr Smith")],
)
def test_c15_another_name_is_not_found(quote: str, text: str) -> None:
    assert prove_in(quote, text) == NOT_FOUND


@given(
    st.text(),
    st.text(min_size=2).map(str.strip).filter(lambda quote: quote[:2].isalpha() and quote[1:] and quote[-1].isalnum()),
    st.text(),
)
def test_words_with_blanks_around_them_are_found_exactly(before: str, quote: str, after: str) -> None:
    text = f"{before}. {quote}. {after}"

    proof = prove_in(quote, text)

    assert proof.verdict is Verdict.EXACT
    assert text[proof.start : proof.end] == quote


def test_a_quote_costs_little_however_often_its_parts_stand_in_the_sources() -> None:
    sources = dict(enumerate(["1 11 " * 4_000, "ab " * 6_000, "中文" * 10_000] * 10, start=1))
    quotes = ["1 1 1 1 " * 200, "ab ab ac " * 200, "中文中 " * 500, "11 1 " * 300 + "end"]
    prover = Prover(sources)
    begun = time.process_time()

    verdicts = {prover.prove(quote, 1).verdict for quote in quotes for _ in range(5)}

    assert verdicts
    assert time.process_time() - begun < 20
