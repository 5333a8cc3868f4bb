"""Which turns a question brings along."""

from autoquery.history import select_history
from citewire.contracts.sessions import Turn


def turns(*sizes: int) -> list[Turn]:
    return [Turn(question=f"q{number}", answer="字" * size) for number, size in enumerate(sizes)]


def test_at_most_four_turns_the_newest() -> None:
    window = select_history(turns(1, 1, 1, 1, 1, 1), max_tokens=8000)

    assert [turn.question for turn in window] == ["q2", "q3", "q4", "q5"]


def test_whole_turns_are_dropped_oldest_first_at_4000_characters() -> None:
    window = select_history(turns(1000, 1500, 1500), max_tokens=100_000)

    assert [turn.question for turn in window] == ["q1", "q2"]


def test_f07_no_turn_is_ever_cut() -> None:
    window = select_history(turns(3999), max_tokens=100_000)

    assert window == ()


def test_the_token_limit_holds_too() -> None:
    window = select_history(turns(100, 100), max_tokens=130)

    assert [turn.question for turn in window] == ["q1"]


def test_a_turn_that_does_not_fit_leaves_no_hole() -> None:
    window = select_history(turns(10, 5000, 10), max_tokens=100_000)

    assert [turn.question for turn in window] == ["q2"]


def test_control_words_are_ordinary_text() -> None:
    history = [Turn(question="<|endoftext|>", answer="<|im_start|>")]

    assert select_history(history, max_tokens=100) == tuple(history)
