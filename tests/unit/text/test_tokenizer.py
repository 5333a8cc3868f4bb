"""Terms: what a question and a source must have in common to meet."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewire.text.tokenizer import LONGEST_WORD, query_terms, term_weight, tokenize


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("标准化", "国际标准化动向"),
        ("動向", "標準化の動向を調べる"),
        ("표준", "국제표준화기구"),
        ("стандартизация", "О стандартизации"),
        ("สวัสดี", "คำว่าสวัสดีครับ"),
    ],
)
def test_e01_a_word_inside_a_clause_is_found(question: str, source: str) -> None:
    assert set(tokenize(question)) & set(tokenize(source))


def test_a_chinese_run_becomes_characters_and_overlapping_pairs() -> None:
    assert sorted(tokenize("标准化")) == sorted(["标", "准", "化", "标准", "准化"])


def test_a_latin_word_ends_where_chinese_begins() -> None:
    assert "nasuwt" in tokenize("NASUWT等工会")
    assert "2015" in tokenize("成立于2015年")


def test_words_are_stemmed_and_stop_words_left_out() -> None:
    assert tokenize("The companies were running") == ["compani", "run"]


def test_contractions_and_possessives_leave_no_rest() -> None:
    assert tokenize("don’t the company's company’s") == ["compani", "compani"]


def test_chinese_grammar_is_left_out() -> None:
    assert not {"的", "多少", "什么"} & set(tokenize("公司的收入是多少？什么"))


def test_an_acronym_is_no_stop_word() -> None:
    assert "it" in tokenize("the IT department")
    assert "us" in tokenize("the us market")


DATES = ["2025-02-14", "2025/2/14", "2025.2.14", "2025年2月14日", "2025 年 2 月 14 日", "2025년 2월 14일", "20250214"]
ENGLISH_DATES = ["14 February 2025", "14th of February, 2025", "Feb 14, 2025", "Feb. 14th 2025", "14-Feb-2025"]


@pytest.mark.parametrize("written", [*DATES, *ENGLISH_DATES, "2025-02-14T10:00:00Z", "于Feb 14, 2025年"])
def test_r2_a_date_is_one_more_term_in_every_form(written: str) -> None:
    assert [term for term in tokenize(f"Report of {written}.") if term.startswith("d20")] == ["d20250214"]


@pytest.mark.parametrize("written", ["February 2025", "Feb. 2025", "2025-02", "2025/02", "2025年2月"])
def test_r2_a_month_is_one_more_term(written: str) -> None:
    assert [term for term in tokenize(written) if term.startswith("d20")] == ["d202502"]


def test_both_ends_of_a_date_range_are_found() -> None:
    assert {"d20250214", "d20250220"} <= set(tokenize("2025/2/14-2025/2/20"))


@pytest.mark.parametrize("written", ["2025", "2025.02", "12025-02-14", "2025-02-145", "2025-13-01", "mayor 2025"])
def test_a_number_that_is_no_date_gives_no_date(written: str) -> None:
    assert not [term for term in tokenize(written) if term.startswith("d20")]


@pytest.mark.parametrize(
    ("written", "whole", "part"),
    [
        ("ABC-1234", "abc-1234", "1234"),
        ("foo_bar", "foo_bar", "bar"),
        ("v2.16.0", "v2.16.0", "16"),
        ("RFC-9457", "rfc-9457", "rfc"),
        ("RFC‑9457", "rfc-9457", "9457"),
        ("error0x1F", "error0x1f", "error"),
        ("john.doe@example.com", "john.doe@example.com", "doe"),
        ("C++", "c++", "c"),
        ("10kg", "10kg", "kg"),
    ],
)
def test_r2_an_identifier_is_found_whole_and_by_part(written: str, whole: str, part: str) -> None:
    terms = tokenize(f"见{written}, then")

    assert {whole, part} <= set(terms)


def test_a_decimal_and_a_grouped_number_are_one_term() -> None:
    assert tokenize("3.14 and 1,234,567") == ["3.14", "1234567"]


def test_a_hyphenated_word_gives_its_words_only() -> None:
    assert tokenize("well-known") == ["well", "known"]


def test_g06_composed_and_decomposed_accents_match() -> None:
    assert tokenize("caf\u0065\u0301") == tokenize("CAFÉ") == ["café"]


@pytest.mark.parametrize("written", ["rev\u200benue", "\u202erevenue\u202c", "re\u00advenue", "ｒｅｖｅｎｕｅ"])
def test_g06_invisible_and_wide_characters_do_not_hide_a_word(written: str) -> None:
    assert tokenize(written) == tokenize("revenue")


def test_g06_a_variation_selector_does_not_part_a_pair() -> None:
    assert "葛城" in tokenize("葛\U000e0100城")


def test_a_turkish_capital_matches_the_typed_word() -> None:
    assert tokenize("İstanbul") == tokenize("istanbul")


def test_a_lone_chinese_character_weighs_less_than_a_pair() -> None:
    assert term_weight("标") < term_weight("标准") == term_weight("c") == 1.0


def test_query_terms_are_distinct_with_their_weights() -> None:
    assert query_terms("tax tax 税") == {"tax": 1.0, "税": term_weight("税")}


def test_g05_a_long_word_is_cut_into_bounded_terms() -> None:
    terms = tokenize("a" * 200_000)

    assert max(map(len, terms)) <= LONGEST_WORD


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "the quick fox, ",
        "检",
        "\u0300\u0316",
        "a-",
        "é-",
        "2025 ",
        "2025-02-",
        "14 february, ",
        "1,234",
        "a@",
        "\u200d",
        " ",
    ],
)
def test_g05_a_megabyte_takes_linear_time(unit: str) -> None:
    text = "e" + unit * (1_000_000 // len(unit))
    start = time.process_time()

    tokenize(text)

    assert time.process_time() - start < 20


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_words_give_the_same_terms_beside_other_scripts(text: str) -> None:
    assert tokenize(f"{text} 中") == [*tokenize(text), "中"]


@given(st.text(alphabet="aB9_ -._@+'’‐,#·°，、。《》（4：汉字检索々〇\n"))
def test_chinese_words_give_the_same_terms_beside_other_scripts(text: str) -> None:
    assert tokenize(f"{text} ж") == [*tokenize(text), "ж"]


@given(st.text())
def test_terms_are_never_empty_and_do_not_depend_on_composition(text: str) -> None:
    terms = tokenize(unicodedata.normalize("NFC", text))

    assert all(terms)
    assert terms == tokenize(unicodedata.normalize("NFD", text))


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_at_all_gives_terms_of_bounded_length(text: str) -> None:
    most_that_folding_adds = 3

    assert all(len(term) <= LONGEST_WORD * most_that_folding_adds for term in tokenize(text))
