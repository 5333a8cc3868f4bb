"""Cleaning for storage and folding for comparison."""

import math
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citewire.text.normalise import StreamCleaner, clean, clean_json, compatible, fold, unfold

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=200)


def find(needle: str, text: str) -> str:
    """The part of the text that matches the needle once both are folded."""
    folded, origins = fold(text)
    wanted, _ = fold(needle)
    at = folded.index(wanted)
    start, end = unfold(origins, at, at + len(wanted))
    return text[start:end]


def test_g01_nul_goes_and_the_rest_stays() -> None:
    assert clean("a\u0000b") == "ab"


def test_control_characters_go_but_tab_and_newline_stay() -> None:
    assert clean("a\x01\x1b[0m\tb\nc") == "a[0m\tb\nc"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r", "\x0b", "\x0c"])
def test_every_line_end_becomes_a_newline(ending: str) -> None:
    assert clean(f"one{ending}two") == "one\ntwo"


@pytest.mark.parametrize("text", ["ok 😀 𝐀", "❤️ 🇨🇳 葛\U000e0100", "\u200fعربي\u200e", "👩\u200d👧", "\ufeff\u200b"])
def test_g03_valid_emoji_and_astral_characters_are_untouched(text: str) -> None:
    assert clean(text) == text


def test_lone_surrogates_go() -> None:
    assert clean("a\ud83db\ude00c") == "abc"


def test_a_surrogate_pair_becomes_its_character() -> None:
    assert clean("\ud83d\ude00") == "😀"


@given(ANY_TEXT)
@example("\r\r\n")
@example("\ud83d\x00\ude00")
def test_clean_is_idempotent_and_encodable(text: str) -> None:
    once = clean(text)

    assert clean(once) == once
    assert once.encode("utf-8").decode("utf-8") == once


@given(st.lists(st.text(alphabet="ab\r\n\t\x00\x0b\ud83d\ude00😀", max_size=5), max_size=8))
@example(["\r", "\ud83d", "\n"])
@example(["a\r", "", "\n"])
@example(["\r\udc00", "\n"])
@example(["\ud83d", "\ud83d", "\ude00"])
def test_g01_a_text_in_pieces_is_cleaned_as_the_whole(pieces: list[str]) -> None:
    cleaner = StreamCleaner()

    cleaned = [*map(cleaner.feed, pieces), cleaner.end()]

    assert "".join(cleaned) == clean("".join(pieces))


def test_a_piece_that_is_clean_is_given_on_at_once() -> None:
    cleaner = StreamCleaner()

    assert [cleaner.feed(piece) for piece in ("ok 😀", "\r", "\nnext")] == ["ok 😀", "", "\nnext"]


@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc"))))
def test_text_without_controls_is_unchanged(text: str) -> None:
    assert clean(text) == text


def test_g01_json_is_cleaned_at_every_depth() -> None:
    value = {"a\x00": ["b\x00", {"c": "d\ud800"}], "n": (1, 2.5, True, None)}

    assert clean_json(value) == {"a": ["b", {"c": "d"}], "n": [1, 2.5, True, None]}


def test_numbers_that_json_lacks_become_none() -> None:
    assert clean_json([math.nan, math.inf, -math.inf, 1.5]) == [None, None, None, 1.5]


def test_c17_offsets_are_exact_behind_a_letter_that_grows_when_lowered() -> None:
    assert find("the revenue", "İİİİİ The revenue rose") == "The revenue"


def test_g06_composed_and_decomposed_letters_match() -> None:
    assert find("café", "the cafe\u0301 opened") == "cafe\u0301"
    assert find("cafe\u0301", "the café opened") == "café"


def test_g06_zero_width_and_bidi_characters_are_skipped() -> None:
    assert find("revenue", "the rev\u200benue\u00ad \u202erose") == "rev\u200benue\u00ad"


def test_typographic_quotes_dashes_and_blanks_match_typed_ones() -> None:
    assert find('"it\'s" 2019-2020', "“it’s”\n\u3000 2019–2020") == "“it’s”\n\u3000 2019–2020"


def test_half_of_a_ligature_matches_the_whole_of_it() -> None:
    assert find("f", "o\ufb01ce") == "\ufb01"


def test_full_width_letters_match_narrow_ones() -> None:
    assert find("abc", "ＡＢＣ公司") == "ＡＢＣ"


@given(st.text(alphabet="aé½ﬁ·，：；！？（）…‥‑　〜カガ汉｢Ａ￥\xad\u0301"))
def test_an_invisible_character_changes_nothing_of_a_compatible_text(text: str) -> None:
    assert compatible(text + "\u200b") == compatible(text) == unicodedata.normalize("NFKC", text.replace("\xad", ""))


@given(ANY_TEXT)
def test_the_map_of_a_fold_is_monotone_and_covers_the_text(text: str) -> None:
    folded, origins = fold(text)

    assert len(origins) == len(folded) + 1
    assert origins == sorted(origins)
    assert origins[-1] == len(text)
    assert all(0 <= origin < len(text) for origin in origins[:-1])


@given(st.text(max_size=60))
def test_g06_folding_does_not_depend_on_composition(text: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)

    assert fold(composed)[0] == fold(decomposed)[0]


@given(st.text(max_size=60), st.data())
def test_a_folded_character_unfolds_to_a_span_of_the_text(text: str, data: st.DataObject) -> None:
    folded, origins = fold(text + "x")
    at = data.draw(st.integers(0, len(folded) - 1))

    start, end = unfold(origins, at, at + 1)

    assert 0 <= start < end <= len(text) + 1
    assert folded[at] in fold((text + "x")[start:end])[0]


@pytest.mark.parametrize("unit", ["a", "检", "\u0300\u0316", "\u200d", "İ", "😀", " "])
def test_g05_a_huge_text_is_folded_in_linear_time(unit: str) -> None:
    text = "e" + unit * (200_000 // len(unit))
    start = time.process_time()

    fold(text)

    assert time.process_time() - start < 10
