"""The form in which quotes and sources are compared."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.citations.canonical import Canonical


def canonical(text: str) -> str:
    return Canonical(text).text.strip()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("costs   fell\n\nby\t3%", "costs fell by 3%"),
        ("costs fell", "COSTS Fell"),
        ("Ｃｏｓｔｓ　ｆｅｌｌ　ｂｙ　３％", "costs fell by 3%"),
        ("“It’s” «so» 「是」", "\"It's\" 'so' '是'"),
        ("a well–known fact", "a well-known fact"),
        ("2019–2020 and 5 – 3", "2019-2020 and 5-3"),
        ("costs — which rose — fell", "costs -- which rose - fell"),
        ("costs—which rose", "costs - which rose"),
        ("cafe\u0301 ﬁne Å", "café fine \u212b"),
        ("trans\u00adfor\u200bmation", "transformation"),
        ("a transfor-\n  mation of long-\nterm debt", "a transformation of long-term debt"),
        ("as shown [2], 【3】", "as shown (2), (3)"),
        ("**Costs** _fell_ by `3%`", "Costs fell by 3%"),
        (r"costs \[net\] fell \*", "costs [net] fell *"),
        ("- costs fell\n- staff grew", "costs fell\nstaff grew"),
        ("## Costs\n\n> costs fell\n> again", "Costs costs fell again"),
        ("| Costs | 3% |\n|---|:---:|\n| Staff | 7 |", "Costs 3% Staff 7"),
        ("收入 增长\n了 12 %，成本——下降", "收入增长了12 %,成本下降"),
        ("这是**重点** 内容", "这是重点内容"),
        ("a \u200b b\u200b c \u200bd 《\u200b 书》", "a b c d 《书》"),
        ("so\u00adﬁne it is", "sofine it is"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("\u1112\u1161\u11ab", "한"),
        ("İstanbul", "i̇stanbul"),
    ],
)
def test_texts_that_are_written_in_another_way_are_alike(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12", "1.2"),
        ("1 2", "12"),
        ("1, 200", "1,200"),
        ("12%", "12"),
        ("-5", "5"),
        ("−5", "5"),
        ("to - 5", "to 5"),
        ("10²", "102"),
        ("12①", "121"),
        ("1½", "11⁄2"),
        ("2**10", "2*10"),
        ("2`5", "25"),
        ("2_5", "25"),
        ("3|5", "35"),
        ("5 * 3", "5 3"),
        ("3 ≠ 4", "3 = 4"),
        ("costs fell", "costs fell?"),
        ("not able", "notable"),
        ("<5%", "5%"),
        ("有", "没有"),
    ],
)
def test_texts_that_say_something_else_are_not_alike(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


def test_c17_the_way_back_gives_whole_characters_of_the_original() -> None:
    text = "İİ **cafe\u0301** …"
    form = Canonical(text)

    start = form.text.index("café")

    assert text[slice(*form.span(start, start + 4))] == "cafe\u0301"


def test_the_way_back_leaves_out_what_follows_unwritten() -> None:
    form = Canonical("**bold** text")

    assert form.span(0, 4) == (2, 6)


@given(st.text(alphabet=st.characters()))
def test_each_canonical_character_comes_from_one_of_the_original_in_order(text: str) -> None:
    form = Canonical(text)

    origins = [form.origin(index) for index in range(len(form.text))]

    assert origins == sorted(origins)
    assert all(0 <= origin < len(text) for origin in origins)


@given(st.text(alphabet="a1 \n-—*_`\\|#>[]²①\u0301\u200b中。，ﾞ", max_size=30))
def test_signs_in_any_order_keep_the_way_back(text: str) -> None:
    form = Canonical(text)

    spans = [form.span(index, index + 1) for index in range(len(form.text))]

    assert all(0 <= start < end <= len(text) for start, end in spans)


@pytest.mark.parametrize(
    "unit", ["- ", "**", "`", "\\", "| ", "a\u0301", "\u0301", "\u200b ", "[1]", "--", "—", "中 ", "①"]
)
def test_a_long_run_of_any_sign_takes_linear_time(unit: str) -> None:
    text = unit * (50_000 // len(unit))
    begun = time.process_time()

    assert Canonical(text).text is not None

    assert time.process_time() - begun < 5
