"""Answers in the inline form, read while they stream."""

import time
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.citations.collect import Claim
from generator.reading.inline import DELIMITER, InlineReader
from generator.reading.tail import BROKEN_LIST, MAX_CLAIMS, Tail

TWO_QUOTES = '[{"source": 1, "quote": "It rose."}, {"source": 2, "quote": "It fell."}]'
TWO_CLAIMS = (Claim(1, "It rose."), Claim(2, "It fell."))
FRAGMENTS = st.sampled_from(
    [
        *(
            "<",
            "<<",
            DELIMITER,
            "<<<QUOTES",
            "quotes",
            "/",
            "END ",
            ">>>",
            "`",
            "```",
            "```json\n",
            "\n",
            " ",
            "**",
            "#",
        ),
        *("[", "]", "{", "}", '"', "\\", ",", ":", '{"source": 1, "quote": "a"}', '[{"source": 2, "quote": "]"}]', "a"),
        *("\r", "\x00", "😀", "\ud83d", "字"),
    ]
)


def read(pieces: Iterable[str]) -> tuple[str, Tail]:
    """All the text that is shown, and the tail."""
    reader = InlineReader()
    shown = "".join(map(reader.feed, pieces))
    tail = reader.end()
    return shown + tail.text, Tail("", tail.claims, tail.problem)


def test_the_text_is_shown_and_the_list_is_read() -> None:
    text, tail = read([f"It rose [1] and fell [2].\n{DELIMITER}\n{TWO_QUOTES}"])

    assert text == "It rose [1] and fell [2]."
    assert tail == Tail("", TWO_CLAIMS)


def test_the_first_piece_is_shown_before_the_second_has_come() -> None:
    assert InlineReader().feed("It") == "It"


def test_what_may_begin_a_delimiter_is_held_back_no_longer_than_needed() -> None:
    reader = InlineReader()

    shown = [reader.feed(piece) for piece in ("a <", "<<Q", "UI", "T>>> b")]

    assert shown == ["a", "", " <<<QUI", "T>>> b"]


def test_an_ordinary_less_than_sign_waits_for_one_character() -> None:
    reader = InlineReader()

    assert [reader.feed("a<"), reader.feed("b")] == ["a", "<b"]


def test_white_space_at_both_ends_is_never_shown() -> None:
    assert read(["\n ", " A", " \n", "B\n\n", "  "])[0] == "A \nB"


@pytest.mark.parametrize(
    "ending",
    [
        f"{DELIMITER}{TWO_QUOTES}",
        f" {DELIMITER} {TWO_QUOTES}",
        f"\n\n{DELIMITER}\n\n{TWO_QUOTES}\n",
        f"\n<<<QUOTES\n{TWO_QUOTES}",
        f"\n<<QUOTES>>\n{TWO_QUOTES}",
        f"\n<quotes>\n{TWO_QUOTES}",
        f"\n**{DELIMITER}**\n{TWO_QUOTES}",
        f"\n### {DELIMITER}:\n{TWO_QUOTES}",
        f"\n```json\n{DELIMITER}\n{TWO_QUOTES}\n```",
        f"\n```\n{DELIMITER}\n{TWO_QUOTES}\n```\n",
        f"\n{DELIMITER}\n```json\n{TWO_QUOTES}\n```",
        f"\n{DELIMITER}\n{TWO_QUOTES}\n{DELIMITER}",
        f"\n{DELIMITER}\n{TWO_QUOTES}\n<<</QUOTES>>>",
        f"\n{DELIMITER}\n{TWO_QUOTES}\n<<<END QUOTES>>>\n",
        f'\n{DELIMITER}\n{{"quotes": {TWO_QUOTES}}}',
        f"\n{DELIMITER}\n" + TWO_QUOTES[1:-1].replace("}, ", "}\n"),
        f"\n{DELIMITER}\n" + TWO_QUOTES[1:-1],
    ],
)
def test_variations_of_the_list_are_read_and_never_shown(ending: str) -> None:
    text, tail = read([f"Rose [1], fell [2].{ending}"])

    assert text == "Rose [1], fell [2]."
    assert tail.claims == TWO_CLAIMS


def test_a_fence_before_the_delimiter_that_closes_code_of_the_answer_stays() -> None:
    text, tail = read([f"Run:\n```sh\nls\n```\n{DELIMITER}\n{TWO_QUOTES}"])

    assert text == "Run:\n```sh\nls\n```"
    assert tail.claims == TWO_CLAIMS


@pytest.mark.parametrize(
    "end", ["", "]", "{", '{"source": 2, "qu', '{"source": 2, "quote": "It fe', ", oops]", "{oops}]"]
)
def test_whole_objects_of_a_broken_list_are_kept(end: str) -> None:
    text, tail = read([f'Rose [1].\n{DELIMITER}\n[{{"source": 1, "quote": "It rose."}}{end}'])

    assert text == "Rose [1]."
    assert tail.claims == (Claim(1, "It rose."),)
    assert tail.problem == (None if end in {"]", ", oops]"} else BROKEN_LIST)


@pytest.mark.parametrize(
    ("written", "is_whole"),
    [
        ("Rose [1].", False),
        (f"Rose [1].\n{DELIMITER}", False),
        (f"Rose [1].\n{DELIMITER}\n[", False),
        (f'Rose [1].\n{DELIMITER}\n[{{"sou', True),
        (f"Rose [1].\n{DELIMITER}\n{TWO_QUOTES}\nMore", False),
    ],
)
def test_a_text_whose_quotes_are_being_listed_is_whole(written: str, is_whole: bool) -> None:
    reader = InlineReader()

    reader.feed(written)

    assert reader.is_whole is is_whole


@pytest.mark.parametrize(
    "entry",
    [
        '{"source": 0, "quote": "a"}',
        '{"source": 1000, "quote": "a"}',
        '{"source": -1, "quote": "a"}',
        '{"source": true, "quote": "a"}',
        '{"source": null, "quote": "a"}',
        '{"source": 1e99, "quote": "a"}',
        '{"source": NaN, "quote": "a"}',
        f'{{"source": {"9" * 5000}, "quote": "a"}}',
        '{"source": 1, "quote": 5}',
        '{"source": 1}',
        '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
    ],
)
def test_an_object_that_is_no_quote_counts_as_broken(entry: str) -> None:
    _, tail = read([f'x\n{DELIMITER}[{entry}, {{"source": 2, "quote": "b"}}]'])

    assert tail.claims == (Claim(2, "b"),)
    assert tail.problem == BROKEN_LIST


@pytest.mark.parametrize("number", ["3", '"3"', '"[3]"', "3.0"])
def test_a_source_number_may_be_written_in_other_ways(number: str) -> None:
    assert read([f'x{DELIMITER}[{{"source": {number}, "quote": "a"}}]'])[1].claims == (Claim(3, "a"),)


def test_brackets_quotes_and_backslashes_within_a_quote_are_text() -> None:
    _, tail = read([f'x\n{DELIMITER}[{{"source": 1, "quote": "a]}} \\"b\\" \\\\"}}]'])

    assert tail.claims == (Claim(1, 'a]} "b" \\'),)


def test_a_quote_copied_with_the_escapes_of_the_prompt_is_that_of_the_source() -> None:
    assert read([f'x{DELIMITER}[{{"source": 1, "quote": "a &lt; b &amp;lt;"}}]'])[1].claims == (Claim(1, "a < b &lt;"),)


@pytest.mark.parametrize(
    "end", [DELIMITER, f"\n{DELIMITER}\n", f"\n```\n{DELIMITER}\n```", "\n<<<QUO", "\n```json\n<<<Q"]
)
def test_a_delimiter_without_a_list_at_the_end_is_not_shown(end: str) -> None:
    assert read(["Fell." + end]) == ("Fell.", Tail())


def test_a_delimiter_without_a_list_within_the_text_is_text() -> None:
    text = f"The sign {DELIMITER} and then\n{DELIMITER}\nmore, [1] and {DELIMITER}\n[1]."

    assert read([text]) == (text, Tail())


def test_a_forged_list_within_the_text_cannot_hide_the_rest() -> None:
    forged = f'{DELIMITER}\n[{{"source": 1, "quote": "forged"}}]'

    text, tail = read([f"One [1].\n{forged}\nTwo [2].\n{DELIMITER}\n{TWO_QUOTES}"])

    assert text == "One [1].\n\nTwo [2]."
    assert tail.claims == (Claim(1, "forged"), *TWO_CLAIMS)


def test_no_more_claims_are_kept_than_an_answer_can_need() -> None:
    entries = ", ".join(['{"source": 1, "quote": "a"}'] * (MAX_CLAIMS + 5))

    assert len(read([f"x{DELIMITER}[{entries}]"])[1].claims) == MAX_CLAIMS


def test_control_characters_and_lone_surrogates_do_no_harm() -> None:
    text, tail = read(
        ["\x00 a\ud83d", f"\ude00\udc00\x00b\n{DELIMITER}", '[{"source": 1, "quote": "\\u0000\\ud800c"}]']
    )

    assert text == "a😀b"
    assert tail.claims == (Claim(1, "c"),)


@pytest.mark.parametrize(
    "whole",
    [
        f'A <b [1].\n```json\n{DELIMITER}\n[{{"source": 1, "quote": "x"}}]\n```',
        f"```\nx\n```\n {DELIMITER}\n[]\nmore `x`\n<<QUO",
        f'{DELIMITER}{{"source": 1, "quote": "\\"}}"}},\n{{"source": 2, "quote": "y"}}\n``',
    ],
)
def test_no_split_in_three_changes_the_result(whole: str) -> None:
    expected = read([whole])

    for first in range(len(whole)):
        for second in range(first, len(whole)):
            assert read([whole[:first], whole[first:second], whole[second:]]) == expected


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS, max_size=14), st.lists(st.integers(0, 80), max_size=6))
def test_no_split_of_any_text_changes_the_result(fragments: list[str], cuts: list[int]) -> None:
    whole = "".join(fragments)
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[start:end] for start, end in pairwise(places)]

    assert read(pieces) == read([whole]) == read(whole)


@pytest.mark.parametrize("start", ["x", f"x{DELIMITER}[", f'x{DELIMITER}[{{"source": "'])
@pytest.mark.parametrize("unit", ["a", "\n", "<", "\n```\n", f"\n{DELIMITER}\n[]", f'{DELIMITER}[{{"', "{"])
def test_the_cost_of_a_character_does_not_grow_with_the_text(start: str, unit: str) -> None:
    def cost(characters: int) -> float:
        reader, pieces = InlineReader(), (unit * characters)[:characters]
        reader.feed(start)
        begin = time.process_time()
        for piece in pieces:
            reader.feed(piece)
        return (time.process_time() - begin) / characters

    # A quadratic reader would take twenty times as long for each.
    assert cost(10_000) < 8 * cost(500)


def test_a_long_text_in_pieces_of_one_character_is_read_in_linear_time() -> None:
    reader = InlineReader()

    shown = "".join(map(reader.feed, "\n " * 49_999 + "a" + "<" * 20_000 + "b"))

    assert shown == "a" + "<" * 20_000 + "b"
