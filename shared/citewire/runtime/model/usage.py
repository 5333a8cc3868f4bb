"""Tokens as providers tell them: read with suspicion, summed over tries, and compared with what was sent."""

from collections.abc import Iterable
from typing import Any, Final

from citewire.contracts.provenance import Usage
from citewire.text.tokens import count_tokens

READ_LESS: Final = "the provider read fewer tokens than were sent"

# Larger is no count of tokens but nonsense.
_MOST: Final = 10**12
# Texts of few tokens differ by what surrounds them.
_NOTABLE: Final = 200
# Bytes of a text per token, at the most but for odd texts: languages and code have 3 to 5.
_BYTES_PER_TOKEN: Final = 6


def read_usage(told: Any) -> Usage | None:
    """What a usage object of either protocol says, of one call; None if it is none."""
    if not isinstance(told, dict):
        return None
    read = _details(told, "input_tokens_details", "prompt_tokens_details")
    written = _details(told, "output_tokens_details", "completion_tokens_details")
    # The second is DeepSeek's, beside the details.
    cached = _first({**told, **read}, "cached_tokens", "prompt_cache_hit_tokens")
    return Usage(
        input_tokens=_count(_first(told, "input_tokens", "prompt_tokens")),
        cached_tokens=_count(cached),
        output_tokens=_count(_first(told, "output_tokens", "completion_tokens")),
        reasoning_tokens=_count(written.get("reasoning_tokens")),
    )


def add(total: Usage | None, more: Usage) -> Usage:
    """Both together."""
    if total is None:
        return more
    return Usage(**{name: getattr(total, name) + getattr(more, name) for name in Usage.model_fields})


def may_have_read_less(texts: Iterable[str], told: Usage) -> bool:
    """Whether a count is worth its time: so few tokens were told that half of the texts may be missing."""
    sent = sum(len(text.encode(errors="replace")) for text in texts)
    return told.input_tokens * _BYTES_PER_TOKEN < sent and sent > _NOTABLE


def has_read_less(texts: Iterable[str], told: Usage) -> bool:
    """Whether the provider counts less than half of the tokens that were sent, and that is not a matter of a few."""
    sent = sum(map(count_tokens, texts))
    return told.input_tokens < sent / 2 and sent - told.input_tokens > _NOTABLE


def _first(told: dict[str, Any], *names: str) -> Any:
    return next((told[name] for name in names if told.get(name) is not None), None)


def _details(told: dict[str, Any], *names: str) -> dict[str, Any]:
    details = _first(told, *names)
    return details if isinstance(details, dict) else {}


def _count(told: Any) -> int:
    return told if isinstance(told, int) and 0 <= told <= _MOST else 0
