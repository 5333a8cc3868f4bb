import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu_time import cpu_seconds
from generator.citations.markers import Marker, MarkerParser, find_markers

MARKDOWN = st.lists(
    st.sampled_from(
        [
            *"`$[]()<>!\\ \t\na7_-:|1",
            *(
                "[1]",
                "[2, 3]",
                "[1-3]",
                "【1】",
                "［2］",
                "【3†source】",
                "[2024]",
                "[x]",
                "中",
                "```",
                "~~~",
                "$$",
                r"\[",
                r"\]",
            ),
            *(
                "\n\n",
                "    ",
                "- ",
                "> ",
                "1. ",
                "# ",
                "](",
                "https://e.com/",
                '<a href="',
                "[1]: ",
                "\r\n",
                "\x85",
                "\0",
                "\ud800",
            ),
        ]
    ),
    max_size=40,
).map("".join)


def numbers(text):
    return [marker.numbers for marker in find_markers(text)]


def in_pieces(pieces):
    parser = MarkerParser()
    return [marker for piece in pieces for marker in parser.feed(piece)] + parser.close()


def cut(text, places):
    edges = [0, *sorted({min(place, len(text)) for place in places}), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fact [1].", (1,)),
        ("Fact [1,2].", (1, 2)),
        ("Fact [1, 2].", (1, 2)),
        ("事实[1，2]。", (1, 2)),
        ("事实[1、2]。", (1, 2)),
        ("Fact [1-3].", (1, 2, 3)),
        ("Fact [1–3].", (1, 2, 3)),
        ("Fact [1, 3-5, 3].", (1, 3, 4, 5)),
        ("事实【1】。", (1,)),
        ("事实［1］。", (1,)),
        ("事实【１２】。", (12,)),
        ("Fact 【1†source】.", (1,)),
        ("Fact [1-50].", tuple(range(1, 51))),
        ("Fact [999].", (999,)),
    ],
)
def test_every_form_of_marker_is_recognised(text, expected):
    assert numbers(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "[0]",
        "[x]",
        "[01]",
        "[2024]",
        "[1, 2024]",
        "[1-51]",
        "[1-999999]",
        "[3-1]",
        "[]",
        "[1.5]",
        "[-1]",
        "[1 2]",
        "[1\n]",
    ],
)
def test_other_brackets_are_plain_text(text):
    assert numbers(f"In {text} it rose.") == []


def test_adjacent_markers_are_separate():
    assert find_markers("a [1][2]") == [Marker((1,), 2, 5), Marker((2,), 5, 8)]


def test_offsets_count_code_points_of_the_whole_text():
    text = "😀 İ\r\n\n> - 增长[12]\0 שלום [3]"

    assert [text[m.start : m.end] for m in find_markers(text)] == ["[12]", "[3]"]


@pytest.mark.parametrize(
    "before", ["收入增长", "“grew”", "(grew)", "grew ", "grew.", "**grew**", "`grew`", "$x$", r"\[ x \]", "café"]
)
def test_a_marker_may_follow_anything_but_a_word(before):
    assert numbers(f"{before}[1]") == [(1,)]


def test_full_width_brackets_may_follow_a_word():
    assert numbers("grew【1】 and rose［2］") == [(1,), (2,)]


def test_c01_numbers_beyond_the_sources_are_reported():
    assert numbers("Yes [5][7].") == [(5,), (7,)]


def test_c02_every_split_gives_the_same_markers():
    text = "Fact [1][2]."

    for mask in range(2 ** (len(text) - 1)):
        places = [place + 1 for place in range(len(text) - 1) if mask >> place & 1]
        assert in_pieces(cut(text, places)) == [Marker((1,), 5, 8), Marker((2,), 8, 11)]


@pytest.mark.parametrize(
    "text", ["`a[1]` [2]", "~~~\n[1]\n~~~", "x\n\n    [1]", "$a[1]$ [2]", "[1](u) [2]", "a\r\n\r\n[1]"]
)
def test_c02_every_split_of_markdown_in_three_gives_the_same_markers(text):
    expected = find_markers(text)

    for places in itertools.combinations_with_replacement(range(len(text) + 1), 2):
        assert in_pieces(cut(text, places)) == expected


@given(MARKDOWN, st.lists(st.integers(0, 200)))
def test_c02_random_splits_of_random_markdown_give_the_same_markers(text, places):
    assert in_pieces(cut(text, places)) == find_markers(text)


@given(MARKDOWN)
def test_markers_are_ascending_disjoint_and_look_like_markers(text):
    markers = find_markers(text)

    assert all(first.end <= second.start for first, second in itertools.pairwise(markers))
    assert all(text[marker.start] in "[【［" and text[marker.end - 1] in "]】］" for marker in markers)


def test_c04_years_and_indices_are_plain_text():
    assert numbers("In [2024] x, arr[7], [0], [x] done.") == []


def test_c04_an_index_of_an_index_is_plain_text():
    assert numbers("arr[1][2] and m[i][3] and a_[1]") == []


@pytest.mark.parametrize(
    "text",
    [
        "`a[1]`",
        "``a ` [1]``",
        "`a\n [1]`",
        "```\n [1]\n```",
        "```py\n [1]",
        "~~~\n [1]\n```\n [1]\n~~~",
        "````\n```\n [1]\n````",
        "    x = y [1]",
        "text\n\n    x = y [1]",
        "text\n\n\tx = y [1]",
        "- item\n\n      x = y [1]",
        "> ```\n> [1]\n> ```",
        "- ```\n  [1]\n\n  [1]\n  ```",
    ],
)
def test_c05_code_holds_no_marker(text):
    assert numbers(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "a `b [1]",
        "a ``b` [1]",
        r"a \`b [1]`",
        "a `b\n\nc` [1]",
        "- a `b\n- c` [1]",
        "| a ` | b [1] |\n| c ` | d |",
        "| a [1]\n    b",
        "# a `b [1]\nc`",
        "a\n    b [1]",
        "- a\n\n  b [1]",
        "1. a\n\n    b [1]",
        "- a\n    - b\n        - c [1]",
        "> ```\n> a\n\nb [1]",
        "```\na\n```\nb [1]",
        "\\[ open\n~~~\na\n~~~\n[1]",
        "``` a ` b [1]",
    ],
)
def test_c05_what_is_no_code_holds_its_marker(text):
    assert numbers(text) == [(1,)]


@pytest.mark.parametrize(
    "text",
    [
        "$x_{[1]}$",
        "$$\nx [1]\n- y [1]\n$$",
        r"\(x [1]\)",
        "\\[\nx [1]\n\\]",
        "[1](http://e.com)",
        "[1](<a b> 'title')",
        "[1](a(b)c)",
        "[see [1] there](http://e.com)",
        "![1](a.png)",
        "[![alt [1]](a.png) [1]](http://e.com)",
        "[1][ref]",
        "[1][]",
        "[text][1]",
        "[1]: http://e.com",
        "Sources:\n- [1]: <http://e.com> 'Title'",
        "http://e.com/?q=[1]",
        "<http://e.com/[1]>",
        '<a href="[1]">',
        "<!-- [1] -->",
        r"\[1]",
    ],
)
def test_c06_math_links_and_tags_hold_no_marker(text):
    assert numbers(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "$5 to $10 [1]",
        "$5 [1] or A$10",
        "$$ open [1]",
        r"\( open [1]",
        r"\\[1]",
        r"\$x [1]$",
        "[1](see page 4)",
        "[1](open",
        "[1] (http://e.com)",
        "[1]: The report says so",
        "[1][^1]",
        "[1][source](http://e.com)",
        "[text](http://e.com)[1]",
        "a < b [1] > c",
        "见 https://e.com，[1]",
        "(https://e.com)[1]",
        "[[1]]",
        "[see [1]]",
        "[a [b](http://e.com) [1]](http://e.com)",
        "Wow![1]",
    ],
)
def test_c06_what_only_resembles_math_or_a_link_holds_its_marker(text):
    assert numbers(text) == [(1,)]


def test_c08_words_with_numbers_are_plain_text():
    assert numbers("pref 0.5 mg, href2, ref 1, [ref 1], fig[2]") == []


def test_c09_an_edition_is_plain_text():
    assert numbers("See [3rd edition].") == []


def test_c10_a_word_in_brackets_is_plain_text():
    assert numbers("[REDACTED] and [Optional]") == []


def test_c14_an_invented_chunk_id_is_plain_text():
    assert numbers("Yes [doc_7_chunk_119] and [ID:3].") == []


def test_c23_a_marker_left_open_at_the_end_is_text():
    assert in_pieces(["a [", "1"]) == []


def test_a15_a_space_at_the_start_of_a_piece_counts():
    assert in_pieces(["###", " **2. Title", " [1]"]) == [Marker((1,), 15, 18)]


def test_a_marker_is_given_once_its_block_is_complete():
    parser = MarkerParser()
    parser.feed("One [1].")

    assert parser.feed("\n\nTwo") == [Marker((1,), 4, 7)]


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "[",
            "]",
            "`",
            "$",
            "\\",
            "<",
            "!",
            ">",
            "- ",
            "\t",
            " ",
            "【1†",
            "[1",
            "[1,",
            "[1]",
            "[[1]",
            "[1](",
            "[1](a ",
        ),
        *(
            "$a ",
            r"\(",
            r"\[",
            "<!--",
            '<a b="',
            "<a b ",
            "[1]: ",
            "[a]: x '",
            "http://(",
            "[1](a '",
            "![",
            "![a](b)[c](d)",
        ),
        *("`a``b", "$$a", "> a\n", "- a\n\n", "> - a\n", "    \n", "|\n", "[1][a", "\\\n", "1. - > "),
    ],
)
def test_work_grows_with_the_length_and_not_its_square(unit):
    short = _cpu_seconds([unit * (10_000 // len(unit))])
    long = _cpu_seconds([unit * (40_000 // len(unit))])

    assert long < 8 * short + 0.1


def test_deep_nesting_costs_later_lines_nothing():
    short, long = ("1. " * depth + "a" + "\n\n" * depth for depth in (1_000, 4_000))

    assert _cpu_seconds([long]) < 8 * _cpu_seconds([short]) + 0.1


def test_one_long_line_in_single_characters_takes_linear_work():
    text = "word [1] `code` $x$ " * 2_000

    assert _cpu_seconds(text * 4) < 8 * _cpu_seconds(text) + 0.1


def _cpu_seconds(pieces):
    return cpu_seconds(lambda: in_pieces(pieces))
