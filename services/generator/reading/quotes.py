"""The list of quotes behind an answer, read while it comes: whole objects count, broken ones do not."""

import json
import re

from generator.citations.collect import Claim
from generator.reading.tail import MAX_CLAIMS, make_claim

# No quote is longer; the rest of such an object is not kept.
MAX_OBJECT = 10_000

_OUTSIDE = re.compile(r'["\[\]{}]')
_INSIDE = re.compile(r'["\\]')


class QuoteList:
    """Takes the text from a list's first bracket on; nothing in it is ever shown.

    Brackets are counted outside of strings only, and each character is looked at once.
    """

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self.is_broken = False
        self._depth = 0
        self._is_quoted = False
        self._skip = 0
        self._object: list[str] | None = None
        self._size = 0

    @property
    def is_open(self) -> bool:
        """Whether a bracket still waits for its partner."""
        return self._depth > 0

    def feed(self, text: str) -> int:
        """How many characters belong to the list: all, or up to the bracket that closes it."""
        position, kept, self._skip = self._skip, 0, 0
        while sign := (_INSIDE if self._is_quoted else _OUTSIDE).search(text, position):
            position = sign.end()
            if sign[0] == "\\":
                position += 1
                self._skip = max(0, position - len(text))
            elif sign[0] == '"':
                self._is_quoted = not self._is_quoted
            else:
                kept = self._bracket(sign[0], text, kept, position)
                if not self._depth:
                    return position
        self._keep(text[kept:])
        return len(text)

    def _bracket(self, sign: str, text: str, kept: int, position: int) -> int:
        """Counts a bracket; gives the position up to which the text is dealt with."""
        if sign in "{[":
            self._depth += 1
            # An entry holds no lists: what does is none.
            self._object = [] if sign == "{" else None
            self._size = 0
            return position - 1
        self._depth -= 1
        if sign == "}":
            self._keep(text[kept:position])
            self._close()
        return position

    def _keep(self, text: str) -> None:
        if self._object is not None and self._size <= MAX_OBJECT:
            self._object.append(text)
            self._size += len(text)

    def _close(self) -> None:
        written, self._object = self._object, None
        claim = _claim("".join(written)) if written is not None else None
        if claim is None:
            self.is_broken = True
        elif len(self.claims) < MAX_CLAIMS:
            self.claims.append(claim)


def _claim(written: str) -> Claim | None:
    try:
        entry = json.loads(written, strict=False)
    except ValueError:
        return None
    return make_claim(entry.get("source"), entry.get("quote"))
