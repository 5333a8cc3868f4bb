"""Which earlier turns a question brings along: whole turns only, the oldest dropped first."""

from collections.abc import Sequence

from citewire.contracts.sessions import Turn
from citewire.text.tokens import count_tokens

MAX_TURNS = 4
MAX_CHARACTERS = 4000


def select_history(turns: Sequence[Turn], max_tokens: int) -> tuple[Turn, ...]:
    """The newest turns (given oldest first) that fit all three limits: turns, characters, o200k_base tokens.

    The first turn that does not fit ends the window, so that it has no holes.
    """
    window: list[Turn] = []
    characters, tokens = 0, 0
    for turn in reversed(turns[-MAX_TURNS:]):
        characters += len(turn.question) + len(turn.answer)
        tokens += count_tokens(turn.question) + count_tokens(turn.answer)
        if characters > MAX_CHARACTERS or tokens > max_tokens:
            break
        window.append(turn)
    return tuple(reversed(window))
