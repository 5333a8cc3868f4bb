"""The log of one answer as its writer knows it: all entries are kept, for Redis may be away, or lose them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from citewire.runtime.answer_log import AnswerLog, AppendOutcome, Lease
from citewire.runtime.errors import TransientError

T = TypeVar("T")

# Seconds between two tries to reach Redis, growing from the first to the last.
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0


class TakenOver(Exception):  # noqa: N818 - somebody else's work now, not a fault
    """Another worker holds the answer, or has ended it."""


class WriteRefused(Exception):  # noqa: N818 - the log's answer, not a fault
    """The log takes nothing more but the end, and why."""

    def __init__(self, outcome: AppendOutcome) -> None:
        super().__init__(outcome.name)
        self.outcome = outcome


class LeasedLog:
    """What was put is written in order, once, however often writing has to be tried again."""

    def __init__(self, log: AnswerLog, lease: Lease) -> None:
        self._log = log
        self._lease = lease
        self._written = list(lease.entries)
        self._waiting: list[str] = []

    @property
    def has_waiting(self) -> bool:
        """Whether something was put and is not written yet."""
        return bool(self._waiting)

    def put(self, *entries: str) -> None:
        """Add entries, to be written with the next write."""
        self._waiting += entries

    async def write(self, *, is_end: bool = False) -> None:
        """Write what waits; a log that Redis lost is written anew first.

        Raises TransientError (what waits still waits), WriteRefused, TakenOver.
        """
        entries = list(self._waiting)
        outcome = await self._append(entries, is_end=is_end)
        if outcome is AppendOutcome.LOST:
            if not await self._log.restore(self._lease, self._written):
                raise TakenOver
            outcome = await self._append(entries, is_end=is_end)
        self._check(outcome)
        self._written += entries
        del self._waiting[: len(entries)]

    async def _append(self, entries: list[str], *, is_end: bool) -> int | AppendOutcome:
        return await self._log.append(self._lease, entries, len(self._written), is_end=is_end)

    def _check(self, outcome: int | AppendOutcome) -> None:
        if outcome is AppendOutcome.LOST:
            raise TransientError("Redis lost the log twice")
        if outcome in {AppendOutcome.FENCED, AppendOutcome.ENDED}:
            raise TakenOver
        if isinstance(outcome, AppendOutcome):
            raise WriteRefused(outcome)


async def insist(attempt: Callable[[], Awaitable[T]], seconds: float) -> T:
    """The result of the first try that does not end in TransientError; raises it when none did in so many seconds."""
    pause, last = FIRST_PAUSE, TransientError("no reply in time")
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    return await attempt()
                except TransientError as error:
                    last = error
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
    except TimeoutError:
        raise last from None
