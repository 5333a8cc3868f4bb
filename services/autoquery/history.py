"""Which earlier turns a question brings along: whole turns only, the oldest dropped first."""

from collections.abc import Sequence

from citewire.contracts.sessions import Turn
from citewire.text.tokens import are_within

MAX_TURNS = 4
MAX_CHARACTERS = 4000


def select_history(turns: Sequence[Turn], max_tokens: int) -> tuple[Turn, ...]:
    """The newest turns (given oldest first) that fit all three limits: turns, characters, o200k_base tokens.

    The first turn that does not fit ends the window, so that it has no holes.
    """
    window: list[Turn] = []
    texts: list[str] = []
    for turn in reversed(turns[-MAX_TURNS:]):
        texts += (turn.question, turn.answer)
        if sum(map(len, texts)) > MAX_CHARACTERS or not are_within(texts, max_tokens):
            break
        window.append(turn)
    return tuple(reversed(window))
