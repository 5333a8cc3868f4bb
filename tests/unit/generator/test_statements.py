"""What an answer states where a marker stands."""

import pytest

from generator.citations.markers import find_markers
from generator.citations.statements import Wording, find_statements


def statements(text: str) -> list[str]:
    """What each marker of a text is put to, with single blanks."""
    return [" ".join(found.text.split()) for found in find_statements(text, find_markers(text))]


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Costs fell [1]. Staff grew [2].", ["Costs fell", "Staff grew"]),
        ("Costs fell. [1] Staff grew. [2]", ["Costs fell.", "Staff grew."]),
        ("Costs fell.[1][2] Staff grew.", ["Costs fell.", "Costs fell."]),
        ("成本下降。【1】员工增加【2】。", ["成本下降。", "员工增加"]),
        ("- Costs fell [1]\n- Staff grew [2]", ["Costs fell", "Staff grew"]),
        ("[1] Costs fell.\n[2] Staff grew.", ["Costs fell.", "Staff grew."]),
        ("Costs fell.\n\n[1]", ["Costs fell."]),
        ("As [1] says, costs fell.", ["As says, costs fell."]),
        ("[1]", [""]),
    ],
)
def test_a_marker_is_put_to_the_sentence_that_it_ends_or_stands_in(text: str, stated: list[str]) -> None:
    assert statements(text) == stated


def test_in_a_sentence_that_ends_with_a_marker_each_has_the_words_before_it() -> None:
    assert statements("Costs fell [1][2], while staff grew [3].") == ["Costs fell", "Costs fell", ", while staff grew"]


def test_in_a_sentence_that_goes_on_behind_them_all_markers_have_the_whole() -> None:
    assert statements("[1] says costs fell, [2] says they rose.") == ["says costs fell, says they rose."] * 2


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,200 of 12.5% in 2023", {"1200", "12.5%", "2023"}),
        ("-5 to 7 percent", {"-5", "7%"}),
        ("百分之12，１９人", {"12%", "19"}),
        ("none", set()),
    ],
)
def test_numbers_are_compared_without_what_groups_their_digits(text: str, numbers: set[str]) -> None:
    assert Wording(text).numbers == numbers


@pytest.mark.parametrize(
    "text", ["It did not fall", "It didn’t fall", "No cost fell", "成本没有下降", "未下降", "并非如此"]
)
def test_a_denial_is_seen(text: str) -> None:
    assert Wording(text).is_negated


@pytest.mark.parametrize("text", ["It fell", "a notable note", "不过成本下降", "未来非常好", "无锡"])
def test_what_only_looks_like_a_denial_is_none(text: str) -> None:
    assert not Wording(text).is_negated
