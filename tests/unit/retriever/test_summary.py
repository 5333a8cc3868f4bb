"""What is kept of a summary or title that a model wrote."""

import pytest

from retriever.ingest.summary import MAX_SUMMARY, clean_summary, clean_title, shortened, width


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Rules for\nbusiness  travel.\r\n", "Rules for business travel."),
        ("Costs [1] and pay [2, 3].", "Costs and pay."),
        ("Costs [^4].", "Costs."),
        ("费用【5†source】和工资［2］。", "费用和工资。"),
        ("A NUL\0, a bell\a and a next line\x85.", "A NUL, a bell and a next line."),
        ("Turned \u202eround\u202c and \u200bhidden.", "Turned round and hidden."),
        ("Half a \ud83d pair.", "Half a pair."),
        ("An array a[i] and the year [2024].", "An array a[i] and the year [2024]."),
        ("", ""),
    ],
)
def test_a_summary_is_one_clean_line_without_numbers_of_sources(written: str, kept: str) -> None:
    assert clean_summary(written) == kept


def test_a_long_summary_is_cut_after_a_word() -> None:
    summary = clean_summary("word " * 1000)

    assert MAX_SUMMARY - 5 <= width(summary) <= MAX_SUMMARY
    assert summary.endswith("word…")


def test_a_wide_character_takes_two_columns() -> None:
    summary = clean_summary("旅" * 1000)

    assert MAX_SUMMARY - 2 <= width(summary) <= MAX_SUMMARY
    assert len(summary) <= MAX_SUMMARY / 2 + 1


@pytest.mark.parametrize("most", range(1, 12))
def test_a_shortened_text_never_takes_more_columns_than_it_may(most: int) -> None:
    assert width(shortened("a 旅 bc 行费 d e", most)) <= most


def test_a_text_that_fits_is_left_alone() -> None:
    assert shortened("ten francs", 10) == "ten francs"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('"Travel Rules"', "Travel Rules"),
        ("《差旅手册》", "差旅手册"),
        ("Untitled document", ""),
        ("report-final.pdf", ""),
        ("Travel [1]\nRules", "Travel Rules"),
    ],
)
def test_a_title_is_one_clean_line_and_no_file_name(written: str, kept: str) -> None:
    assert clean_title(written) == kept


def test_a_title_of_endless_words_is_cut() -> None:
    assert len(clean_title("t" * 10_000)) == 120
