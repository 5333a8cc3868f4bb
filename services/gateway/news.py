"""What came for one reader of an answer: entries at hand, or the word that it must look into the log."""

import asyncio
import math
from collections.abc import Callable, Sequence

# Characters of entries kept for one reader. A slower one reads them from the log again, at its own pace.
MAX_HELD = 256 * 1024


class News:
    """One reader's news. Entries are at hand only as long as they follow each other and are not too many."""

    __slots__ = ("_due", "_entries", "_first", "_must_look", "_patience", "_size", "_waiter", "take_at_once")

    def __init__(self) -> None:
        # Takes entries, the first of which has this number, while its reader waits; or says that it can't.
        self.take_at_once: Callable[[int, Sequence[str]], bool] = _leave
        self._first = 0
        self._entries: list[str] = []
        self._size = 0
        self._must_look = False
        self._waiter: asyncio.Future[bool] | None = None
        self._due = math.inf
        self._patience = math.inf

    def offer(self, first: int, entries: Sequence[str], size: int) -> None:
        """Take entries of so many characters, the first of which has the number `first`; none: the reader must look."""
        if self._must_look:
            return
        waiter = self._waiter
        if waiter is not None and not waiter.done() and self.take_at_once(first, entries):
            # The reader waits, which it does only when nothing is at hand: its time begins anew.
            self._due = waiter.get_loop().time() + self._patience
            return
        if not self._entries:
            self._first = first
        self._size += size
        if not entries or first != self._first + len(self._entries) or self._size > MAX_HELD:
            self.look()
            return
        self._entries += entries
        self._wake(is_news=True)

    def look(self) -> None:
        """Make the reader look into the log."""
        self._must_look = True
        self._forget()
        self._wake(is_news=True)

    def wait(self, seconds: float) -> "asyncio.Future[bool]":
        """True once there is news, False when there was none for so long, as told by `expire`."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        self._patience = seconds
        self._due = loop.time() + seconds
        if self._entries or self._must_look:
            self._wake(is_news=True)
        return self._waiter

    def expire(self, now: float) -> None:
        """End the wait if its time is over; `now` is the loop's time."""
        if self._due <= now:
            self._wake(is_news=False)

    def take(self, number: int) -> Sequence[str] | None:
        """The entries that follow entry `number`; None when they must be read from the log.

        There is a gap, or what came is known already: then the log may have been begun anew.
        """
        first, entries = self._first, self._entries
        is_next = first <= number + 1 < first + len(entries)
        must_look, self._must_look = self._must_look or not is_next, False
        self._forget()
        return None if must_look else entries[number + 1 - first :]

    def _forget(self) -> None:
        self._entries, self._size = [], 0

    def _wake(self, *, is_news: bool) -> None:
        self._due = math.inf
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(is_news)


def _leave(_first: int, _entries: Sequence[str]) -> bool:
    return False
