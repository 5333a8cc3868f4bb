import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from generator.citations.markers import find_markers
from generator.citations.neutralise import neutralise_markers, quote_sentence

PIECES = st.lists(
    st.sampled_from(
        [
            *"`$[]()<>!\\ \t\n\ra7_-:|1=~#*+.\"'",
            *(
                "[1]",
                "[2, 3]",
                "【1】",
                "［2］",
                "【3†source】",
                "[^1]",
                "[x]",
                "中",
                "```",
                "~~~",
                "$$",
                r"\[",
                r"\]",
                r"\(",
            ),
            *(
                "](",
                "https://e.com/",
                '<a href="',
                "[1]: ",
                "<!--",
                "-->",
                "    ",
                "\x85",
                "\u2028",
                "\0",
                "\ud800",
                "www.",
            ),
        ]
    ),
    max_size=30,
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fact [2].", "Fact (2)."),
        ("Fact [1, 2][3-5].", "Fact (1, 2)(3-5)."),
        ("事实【2】和［3］", "事实（2）和（3）"),
        ("Fact 【2†source】", "Fact （2†source）"),
        ("In [2024] arr[7] `[1]` [1](http://e.com)", "In [2024] arr[7] `[1]` [1](http://e.com)"),
    ],
)
def test_markers_of_a_document_become_parentheses(text, expected):
    assert neutralise_markers(text) == expected


@given(PIECES)
def test_no_marker_is_left_after_neutralising_once(text):
    once = neutralise_markers(text)

    assert find_markers(once) == []
    assert neutralise_markers(once) == once


@pytest.mark.parametrize(
    "sentence",
    [
        "Costs fell to $5 (a < b).",
        "收入增长12%，成本下降。",
        "See [2024] and arr[7], C:\\Users\\me – 50 % *sure*.",
        "2024 was good; it's a well-known 3-in-1.",
        "Email a@b.com or see https://e.com/a_b.",
    ],
)
def test_an_ordinary_sentence_is_quoted_unchanged(sentence):
    assert quote_sentence(sentence) == sentence


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Fact [3] and\nmore.", "Fact (3) and more."),
        ("Call `f` now", r"Call \`f\` now"),
        ("$5 plus $x", r"\$5 plus \$x"),
        ("[a](http://e.com)", r"[a\](http://e.com)"),
        ("[1](http://e.com)", "(1)(http://e.com)"),
        ("a <b> c", r"a \<b> c"),
        (r"\[x\]", r"\\[x\\]"),
        ("# Title", r"\# Title"),
        ("1. First", r"1\. First"),
        ("- first", r"\- first"),
        ("[a]:", r"[a\]:"),
    ],
)
def test_what_could_act_as_markdown_is_escaped(sentence, expected):
    assert quote_sentence(sentence) == expected


@given(st.one_of(PIECES, st.text()), st.integers(1, 999))
@example("[a]:", 1)
@example("[a]:\\", 1)
@example("```", 1)
@example("     code", 1)
@example("[x](", 1)
@example("http://e.com", 1)
@settings(max_examples=500)
def test_c05_a_quoted_sentence_adds_no_marker_and_swallows_none(sentence, number):
    line = f"- {quote_sentence(sentence)} [{number}]"

    markers = find_markers(line)

    assert [(marker.numbers, marker.end) for marker in markers] == [((number,), len(line))]


@given(st.lists(PIECES, min_size=2, max_size=4))
def test_c05_quoted_sentences_do_not_act_on_each_other(sentences):
    lines = [f"- {quote_sentence(sentence)} [{number}]" for number, sentence in enumerate(sentences, 1)]

    markers = find_markers("\n".join(lines))

    assert [marker.numbers for marker in markers] == [(number,) for number in range(1, len(lines) + 1)]
