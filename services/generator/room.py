"""The tokens that a prompt may have, handed out text by text."""

from collections.abc import Sequence

from citewire.text.tokens import count_tokens


class TokenRoom:
    """So many o200k_base tokens; texts are counted only when their bytes do not tell already that they fit."""

    def __init__(self, tokens: int) -> None:
        self._left = tokens
        self._pending: list[str] = []
        self._pending_bytes = 0
        self._pending_extra = 0

    def take(self, texts: Sequence[str], extra: int = 0) -> bool:
        """Take all the texts and so many tokens more, or nothing if they do not fit together."""
        # A token is at least one byte.
        size = sum(len(text.encode(errors="replace")) for text in texts) + extra
        if self._pending_bytes + size <= self._left:
            self._pending += texts
            self._pending_bytes += size
            self._pending_extra += extra
            return True
        tokens = sum(map(count_tokens, texts)) + extra
        if tokens > self.left():
            return False
        self._left -= tokens
        return True

    def left(self) -> int:
        """Exactly how many tokens are left."""
        self._left -= sum(map(count_tokens, self._pending)) + self._pending_extra
        self._pending, self._pending_bytes, self._pending_extra = [], 0, 0
        return self._left
