"""Writes one answer's text to its log: the first piece at once, then whatever gathered while the last write ran."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from citewire.runtime.answer_log import AnswerLog, AppendOutcome, Lease, encode_deltas

# Deltas that one write may hold: Lua can't unpack more than some thousands.
MAX_BATCH = 1000


class WriteRefused(Exception):  # noqa: N818 - the log's answer, not a fault
    """The log took nothing more, and why."""

    def __init__(self, outcome: AppendOutcome) -> None:
        super().__init__(outcome.name)
        self.outcome = outcome


class TextWriter:
    """Appends deltas in batches, never one round trip per delta.

    `text` is what the log holds; `rest` is what it does not hold yet, to be written with the end.
    """

    def __init__(self, log: AnswerLog, lease: Lease, written: str, window: float) -> None:
        self._log = log
        self._lease = lease
        self._window = window
        self._pending: list[str] = []
        self._is_complete = False
        self._arrived = asyncio.Event()
        # Pieces that may be left for the end, so that the last of them need no write of their own.
        self._left = 0
        # What an earlier holder of the lease wrote already; the same pieces come again and are skipped.
        self._skip = len(written)
        self.text = written

    async def write_all(self, pieces: AsyncIterator[str]) -> None:
        """Write pieces as they come, all but the last; raises WriteRefused when the log takes no more."""
        flushing = asyncio.create_task(self._flush_until_complete())
        try:
            async for piece in pieces:
                self._offer(piece)
                if flushing.done():
                    break
            self._left = MAX_BATCH
        finally:
            # What has been produced is written even when producing failed or was stopped.
            self._is_complete = True
            self._arrived.set()
            await self._end(flushing)

    async def _end(self, flushing: "asyncio.Task[None]") -> None:
        try:
            await flushing
        except WriteRefused:
            # What follows a gap is no rest of the text.
            self._pending.clear()
            raise

    @property
    def rest(self) -> list[str]:
        """Log entries for the pieces that the end takes with it."""
        return encode_deltas(self._pending)

    @property
    def whole(self) -> str:
        """The text with its rest."""
        return self.text + "".join(self._pending)

    def _offer(self, piece: str) -> None:
        if self._skip:
            piece, self._skip = piece[self._skip :], max(0, self._skip - len(piece))
        if not piece:
            return
        if not self._pending:
            self._arrived.set()
        self._pending.append(piece)

    async def _flush_until_complete(self) -> None:
        while not self._is_complete or len(self._pending) > self._left:
            await self._arrived.wait()
            self._arrived.clear()
            await self._flush()
            await self._pause()

    async def _flush(self) -> None:
        if not self._pending:
            return
        batch, self._pending = self._pending[:MAX_BATCH], self._pending[MAX_BATCH:]
        outcome = await self._log.append(self._lease, encode_deltas(batch))
        if isinstance(outcome, AppendOutcome) and outcome is not AppendOutcome.LOST:
            raise WriteRefused(outcome)
        self.text += "".join(batch)

    async def _pause(self) -> None:
        """Let pieces gather for one window, unless all have come."""
        deadline = asyncio.get_running_loop().time() + self._window
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while not self._is_complete:
                    await self._arrived.wait()
                    if not self._is_complete:
                        self._arrived.clear()
        if self._pending:
            self._arrived.set()
