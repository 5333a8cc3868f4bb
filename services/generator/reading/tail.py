"""What a reader has to say once the model's text has ended, and how it makes claims."""

from dataclasses import dataclass
from typing import Any

from citewire.text.normalise import clean
from generator.blocks import unescape
from generator.citations.collect import Claim

# More quotes than any answer needs, so that a model that never stops listing them costs nothing.
MAX_CLAIMS = 200
BROKEN_LIST = "the model's list of quotes could not be read in full"
# Source numbers have three digits at most, as in the answer's markers.
MAX_NUMBER = 999


@dataclass(frozen=True)
class Tail:
    """The rest of the text that can be shown, what it claims to quote, and what was wrong with the list of quotes."""

    text: str = ""
    claims: tuple[Claim, ...] = ()
    problem: str | None = None


def make_claim(number: Any, quote: Any, page: Any = None) -> Claim | None:
    """A claim from values as a model writes them; None where they are none."""
    source = _whole(number)
    if not 1 <= source <= MAX_NUMBER or not isinstance(quote, str):
        return None
    return Claim(source, unescape(clean(quote)), page=_whole(page) or None)


def _whole(value: Any) -> int:
    """3 for 3, "3", "[3]" and 3.0; 0 for what is no positive whole number."""
    if isinstance(value, str):
        digits = value.strip(" []")
        return int(digits) if digits.isdecimal() and len(digits) <= len(str(MAX_NUMBER)) else 0
    if isinstance(value, float):
        return int(value) if value.is_integer() and value <= MAX_NUMBER else 0
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
