"""The client's wish to stop an answer, as an interruption of what runs at that moment."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator


class Stopped(Exception):  # noqa: N818 - a wish, not a fault
    """The client stopped the answer."""


class Stopping:
    """Whether an answer is to be stopped. A time limit that a stop brings forward: no task has to watch for it."""

    def __init__(self) -> None:
        self.is_set = False
        self._limit: asyncio.Timeout | None = None

    def set(self) -> None:
        """Stop, now and from now on."""
        self.is_set = True
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time())

    @contextlib.asynccontextmanager
    async def interrupting(self, seconds: float | None = None) -> AsyncGenerator[None]:
        """End the block with Stopped as soon as the answer is stopped, with TimeoutError after so many seconds."""
        if self.is_set:
            raise Stopped
        try:
            async with asyncio.timeout(seconds) as limit:
                self._limit = limit
                yield
        except TimeoutError:
            if self.is_set:
                raise Stopped from None
            raise
        finally:
            self._limit = None
