"""The end of a text that does not go on, noticed without a look at the clock for each piece."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

# Looks in the time of the shorter limit: silence is noticed late by one of them at most.
LOOKS = 4


class Silent(Exception):  # noqa: N818 - an end, not a fault
    """No more text came in time; says how long that was."""


@contextlib.asynccontextmanager
async def limited_silence(size: Callable[[], int], first: float, idle: float) -> AsyncGenerator[None]:
    """End the block with Silent when `size` stays 0 for `first` seconds, or later the same for `idle` seconds."""
    watch = _Watch(size, first, idle)
    try:
        async with watch.limit:
            watch.look_later()
            yield
    except TimeoutError:
        if not watch.limit.expired():
            raise
        begun = "no more text" if size() else "no text"
        raise Silent(f"{begun} came within {watch.patience:g} s") from None
    finally:
        watch.end()


class _Watch:
    def __init__(self, size: Callable[[], int], first: float, idle: float) -> None:
        self.limit = asyncio.timeout(None)
        self._size = size
        self._first = first
        self._idle = idle
        self._pause = min(first, idle) / LOOKS
        self._seen = 0
        self._quiet = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def patience(self) -> float:
        """Seconds of silence that are allowed."""
        return self._idle if self._seen else self._first

    def look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._look)

    def _look(self) -> None:
        size = self._size()
        self._quiet = 0.0 if size != self._seen else self._quiet + self._pause
        self._seen = size
        # Half a pause less: sums of fractions come out a little short.
        if self._quiet > self.patience - self._pause / 2:
            self.limit.reschedule(asyncio.get_running_loop().time())
        else:
            self.look_later()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
