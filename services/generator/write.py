"""Writes one answer's text to its log: the first piece at once, then whatever gathered while the last write ran."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from citewire.runtime.answer_log import encode_deltas
from citewire.runtime.errors import TransientError
from citewire.text.normalise import StreamCleaner
from generator.leased import FIRST_PAUSE, LONGEST_PAUSE, LeasedLog

# Pieces that may be left for the end, so that the last of them need no write of their own; and those that are taken
# from a writer that never waits before others get their turn.
MAX_BATCH = 1000
# Seconds that the last pieces may take to be written once all have come; then the end takes them with it.
END_PATIENCE = 2.0
LOST_WORKER = "the worker that wrote the answer was lost"


class Cut(Exception):  # noqa: N818 - an end, not a fault
    """The text ends before its writer has ended, and why."""


class Differs(Cut):
    """What is written anew is not what the log holds."""


@dataclass(frozen=True)
class TextLimits:
    """What a text may have: characters in all; and its window, seconds."""

    characters: int
    window: float


class TextWriter:
    """Appends deltas in batches, never one round trip per delta.

    `written` is what an earlier holder of the lease wrote: the same text comes again and is not repeated.
    """

    def __init__(self, log: LeasedLog, written: str, limits: TextLimits) -> None:
        self._log = log
        self._written = written
        self._limits = limits
        self._cleaner = StreamCleaner()
        self._matched = 0
        # Pieces as they came; cleaned and not yet put into the log; all cleaned ones.
        self._raw: list[str] = []
        self._ready: list[str] = []
        self._texts: list[str] = []
        self._size = 0
        self._left = 0
        self._is_complete = False
        self._arrived = asyncio.Event()
        if log.has_waiting:
            self._arrived.set()

    @property
    def text(self) -> str:
        """All that was produced, cleaned: what the log holds, or will hold with the end."""
        return self._written + "".join(self._texts)

    async def write_all(self, pieces: AsyncGenerator[str]) -> None:
        """Write pieces as they come; the last may be left for `rest`.

        Raises Cut where the text goes over its limits, WriteRefused or TakenOver when the log takes no more of it.
        Redis may be away as long as it likes.
        """
        flushing = asyncio.create_task(self._flush_until_complete())
        try:
            async with contextlib.aclosing(pieces):
                await self._take_all(pieces, flushing)
            self._left = MAX_BATCH
        finally:
            # What has been produced is written even when producing failed or was stopped.
            self._is_complete = True
            self._arrived.set()
            await _end(flushing)

    def rest(self) -> list[str]:
        """Log entries for the pieces that the end takes with it; they are handed over once."""
        ready, self._ready = self._ready, []
        return encode_deltas(ready)

    async def _take_all(self, pieces: AsyncGenerator[str], flushing: "asyncio.Task[None]") -> None:
        try:
            await self._take(pieces, flushing)
        finally:
            self._clean()
        if not flushing.done():
            self._complete()

    async def _take(self, pieces: AsyncGenerator[str], flushing: "asyncio.Task[None]") -> None:
        most, count = self._limits.characters, 0
        async for piece in pieces:
            if piece:
                if not self._raw:
                    self._arrived.set()
                self._raw.append(piece)
                self._size += len(piece)
                if self._size > most:
                    self._raw[-1] = piece[: most - self._size]
                    raise Cut(f"the text is longer than {most} characters")
            if flushing.done():
                return
            count += 1
            if count % MAX_BATCH == 0:
                await asyncio.sleep(0)

    def _clean(self) -> None:
        """Make what came ready to be written; raises Differs where it is not what was written before."""
        raw, self._raw = self._raw, []
        self._add(self._cleaner.feed_all(raw))

    def _complete(self) -> None:
        self._add([self._cleaner.end()])
        if self._matched < len(self._written):
            raise Differs(LOST_WORKER)

    def _add(self, texts: list[str]) -> None:
        if self._matched < len(self._written):
            texts = [self._beyond_written(text) for text in texts]
        texts = [text for text in texts if text]
        self._texts += texts
        self._ready += texts

    def _beyond_written(self, text: str) -> str:
        """The part of a text that the log does not hold yet."""
        known = self._written[self._matched : self._matched + len(text)]
        if not text.startswith(known):
            raise Differs(LOST_WORKER)
        self._matched += len(known)
        return text[len(known) :]

    async def _flush_until_complete(self) -> None:
        pause = FIRST_PAUSE
        while not self._is_complete or len(self._ready) > self._left:
            await self._arrived.wait()
            self._arrived.clear()
            try:
                await self._flush()
            except TransientError:
                if self._is_complete:
                    return
                await self._gather(pause)
                self._arrived.set()
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE
                await self._gather(self._limits.window)

    async def _flush(self) -> None:
        self._clean()
        self._log.put(*self.rest())
        if self._log.has_waiting:
            await self._log.write()

    async def _gather(self, seconds: float) -> None:
        """Let pieces gather for so long, unless all have come."""
        deadline = asyncio.get_running_loop().time() + seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while not self._is_complete:
                    await self._arrived.wait()
                    if not self._is_complete:
                        self._arrived.clear()
        if self._raw or self._ready:
            self._arrived.set()


async def _end(flushing: "asyncio.Task[None]") -> None:
    limit = asyncio.timeout(END_PATIENCE)
    try:
        async with limit:
            await flushing
    except TimeoutError:
        # It is cancelled with the wait; what it was writing still waits in the log, and the end takes it with it.
        if not limit.expired():
            raise
