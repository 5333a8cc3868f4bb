"""Sentence spans: what ends a sentence, what does not, and what may be quoted."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewire.text.sentences import candidate_sentences, split_sentences

TEXTS = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from(" \n.!?。！？；…,，、[]()“”\"'-#>ab中文1")), max_size=400
)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def candidates(text: str, **limits: int) -> list[str]:
    return [text[start:end] for start, end in candidate_sentences(text, **limits)]


def test_e03_chinese_sentences_without_blanks_are_three() -> None:
    assert sentences("收入增长了。利润如何？下降了！") == ["收入增长了。", "利润如何？", "下降了！"]


def test_e03_a_full_width_semicolon_and_an_ellipsis_end_a_chinese_sentence() -> None:
    assert sentences("先看收入；再看利润……最后看现金。") == ["先看收入；", "再看利润……", "最后看现金。"]


def test_e03_closing_quotes_stay_with_their_sentence() -> None:
    text = '他说：“收入增长了。”她问：「真的吗？」（是的。）He said "Sales rose." Then he left.'

    assert sentences(text) == [
        "他说：“收入增长了。”",
        "她问：「真的吗？」",
        "（是的。）",
        'He said "Sales rose."',
        "Then he left.",
    ]


def test_e03_chat_lines_without_punctuation_are_sentences_without_their_marks() -> None:
    text = "[小明] 今天开会吗\n[alice]: at three o'clock\n[小红]好的"

    assert sentences(text) == ["今天开会吗", "at three o'clock", "好的"]


def test_chat_marks_repeated_inside_a_line_cut_it() -> None:
    assert sentences("[alice] who has the key [bob] Carol has it [alice] thanks") == [
        "who has the key",
        "Carol has it",
        "thanks",
    ]


def test_brackets_in_a_line_that_is_no_chat_cut_nothing() -> None:
    assert sentences("Use the [beta] flag of the tool.") == ["Use the [beta] flag of the tool."]


def test_a_source_number_inside_a_chat_line_is_no_nickname() -> None:
    assert sentences("[alice] the report [1] says so") == ["the report [1] says so"]


def test_a_markdown_link_is_no_chat_mark() -> None:
    assert sentences("[The guide](guide.md) explains it.") == ["[The guide](guide.md) explains it."]


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met Mr. J. R. Jones at the U.S. Senate.",
        "The value, e.g. 3.14 or 2.72, fell by approx. 5 percent.",
        "See Fig. 2 and No. 5 for details.",
        "Apple Inc. CEO Tim Cook spoke at 5 p.m. Eastern time.",
        "Wait... not yet.",
        '"Why?" he asked.',
        "Read node.js and version v2.16.0 notes.",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_it(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It rose by 3.14. Revenue fell.", 2),
        ("He works at Acme Inc. The firm grew.", 2),
        ("it works. thanks", 2),
        ("Is it true? Yes! Good.", 3),
        ("The answer is no. Nobody came.", 2),
        ("Sales rose.[3] Costs fell.", 2),
        ("公司成立于2015年.现在有500人.", 2),
        ("真的吗?当然!", 2),
    ],
)
def test_sentences_are_counted_right(text: str, count: int) -> None:
    assert len(sentences(text)) == count


def test_lists_and_headings_lose_their_signs() -> None:
    text = "## Results\n\n- first point\n* second point\n3. third point\n> quoted words\n- [x] done task\n4、第四点"

    assert sentences(text) == [
        "Results",
        "first point",
        "second point",
        "third point",
        "quoted words",
        "done task",
        "第四点",
    ]


def test_a_negative_number_at_a_line_start_keeps_its_sign() -> None:
    assert sentences("-5 degrees at noon") == ["-5 degrees at noon"]


def test_lines_without_letters_or_digits_are_left_out() -> None:
    assert sentences("---\n…\n😀\n| | |\nText.") == ["Text."]


def test_candidates_leave_out_what_is_too_short() -> None:
    assert candidates("好。今天开会。") == ["今天开会。"]


def test_a_long_english_sentence_is_cut_behind_its_clauses() -> None:
    text = (
        f"when the first year, with {'all ' * 20}its wars, had ended, it paid 1,000 debts with {'all ' * 20}its gold."
    )

    pieces = candidates(text)

    assert len(pieces) == 2
    assert pieces[0].endswith("had ended,")
    assert " ".join(pieces) == text


def test_a_long_sentence_without_clauses_is_cut_between_words() -> None:
    text = "word " * 60 + "end."

    pieces = candidates(text)

    assert " ".join(pieces) == text
    assert max(map(len, pieces)) <= 160


def test_a_long_chinese_run_is_cut_between_characters() -> None:
    text = "检索增强生成" * 60

    assert "".join(candidates(text)) == text


def test_a_comma_inside_a_number_is_no_clause() -> None:
    text = "a " * 70 + "1,000,000 " + "b " * 70

    assert any("1,000,000" in piece for piece in candidates(text))


def test_a_word_longer_than_the_limit_is_left_out_alone() -> None:
    text = "Before it comes. " + "x" * 500 + " after it."

    assert candidates(text) == ["Before it comes.", "after it."]


@pytest.mark.parametrize("unit", ["a", "检", ". ", "[a] ", "- ", "！", "a, ", "> ", " ", "[", "a.", "e\u0301"])
def test_g05_a_huge_text_is_split_in_linear_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    start = time.process_time()

    candidate_sentences(text)

    assert time.process_time() - start < 10


@given(TEXTS)
def test_spans_are_in_order_apart_inside_the_text_and_trimmed(text: str) -> None:
    spans = split_sentences(text)

    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


@given(TEXTS, st.integers(1, 10), st.integers(10, 60))
def test_candidates_are_in_order_apart_and_of_allowed_length(text: str, minimum: int, maximum: int) -> None:
    spans = candidate_sentences(text, minimum, maximum)

    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(minimum <= end - start <= maximum for start, end in spans)
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


@given(st.text(alphabet="abc中文。，.! \n", max_size=300))
def test_no_letter_of_plain_text_is_lost(text: str) -> None:
    kept = "".join(sentences(text))

    assert [c for c in kept if c.isalpha()] == [c for c in text if c.isalpha()]
