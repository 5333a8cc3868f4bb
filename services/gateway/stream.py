"""An answer as a client reads it: replayed from any number, then live, then exactly one `done` or `error`.

    log:    sources(1) delta(2) … delta(n) end(n+1) stored(n+2)
    client: sources(1) delta(2) … delta(n) done(n+1)

`done` waits a short grace for `stored`, and what is stored counts. If Redis loses the log, the rest comes from the
store; where that does not continue what was sent, a `sources` frame comes again, which begins the answer anew.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from citewire.contracts.events import now
from citewire.contracts.identity import User
from citewire.contracts.requests import GetInteraction
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.runtime.answer_log import READ_LIMIT, AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal, TransientError
from gateway import frames, replay
from gateway.connection import Body
from gateway.disconnects import Disconnects
from gateway.hub import Hub
from gateway.marks import Marks
from gateway.news import News
from gateway.reading import Reading
from gateway.settings import Settings

RUNNING = (InteractionStatus.PENDING, InteractionStatus.STREAMING)
# Seconds without news after which the stream makes sure that its log is still there.
CHECK_INTERVAL = 2.0
# The longest time that a question may have: what holds where its deadline is not known.
LONGEST_ANSWER = timedelta(hours=1)


@dataclass(frozen=True)
class Record:
    """What the persister knows of answers."""

    bus: Bus
    marks: Marks

    async def outcome(self, question_id: UUID, user: User) -> Interaction | None:
        """The outcome as the user may see it; None while there is none, or the persister is away."""
        try:
            reply = await self.bus.ask(GetInteraction(question_id=question_id, user_id=user.user_id))
        except (Refusal, TransientError):
            return None
        if reply.interaction.status in RUNNING:
            return None
        (shown,) = await self.marks.show([reply.interaction], user)
        return shown


class AnswerStreams:
    """Makes the streams of a gateway process."""

    def __init__(self, log: AnswerLog, hub: Hub, record: Record, disconnects: Disconnects, settings: Settings) -> None:
        self._log = log
        self._hub = hub
        self._record = record
        self._disconnects = disconnects
        self._settings = settings
        self._draining = asyncio.Event()

    def drain(self) -> None:
        """Tell every client to come back elsewhere: this process stops."""
        self._draining.set()
        self._hub.wake_all()

    @contextlib.asynccontextmanager
    async def follow(
        self, question_id: UUID, user: User, after: int, *, merged: bool = False, is_new: bool = False
    ) -> AsyncGenerator["AnswerStream"]:
        """The frames of an answer numbered above `after`; `merged` sends all text in one delta.

        `is_new`: the question was asked just now, so that an empty log is no reason to look whether it is over.
        """
        reading = Reading(after, is_merged=merged)
        self._disconnects.came(question_id)
        has_left = True
        try:
            async with self._hub.follow(question_id) as news:
                stream = AnswerStream(
                    question_id, user, reading, news, self._log, self._record, self._settings, self._draining, is_new
                )
                yield stream
                has_left = not stream.has_ended
        finally:
            if has_left:
                self._disconnects.left(question_id)


@dataclass(slots=True)
class AnswerStream:
    """One client's stream."""

    question_id: UUID
    user: User
    reading: Reading
    news: News
    log: AnswerLog
    record: Record
    settings: Settings
    draining: asyncio.Event
    is_new: bool
    deadline: datetime = field(default_factory=lambda: now() + LONGEST_ANSWER)
    last_sent: float = field(default_factory=time.monotonic)
    # Redis was away when the log was to be read; and the log is not there, as far as can be known.
    has_missed: bool = False
    is_gone: bool = False
    has_ended: bool = False

    def write_to(self, body: Body) -> None:
        """Write deltas there as they come, while `next` waits and the client takes them."""

        def take(first: int, entries: Sequence[str]) -> bool:
            if not body.is_free or self.draining.is_set():
                return False
            if chunk := self.reading.take_deltas(first, entries):
                body.write(chunk.encode())
                self.last_sent = time.monotonic()
            return bool(chunk)

        self.news.take_at_once = take

    async def next(self) -> bytes:
        """The next frames, or a comment after long silence; nothing once the stream has ended."""
        while not self.has_ended:
            is_news = await self.news.wait(self.settings.persist_grace if self.reading.end else CHECK_INTERVAL)
            if self.draining.is_set():
                self.has_ended = True
                return frames.RECONNECT
            if is_news:
                entries = self.news.take(self.reading.number)
                chunk = self.reading.take(await self._look() if entries is None else entries)
            else:
                chunk = await self._after_silence()
            if self.is_gone or self.reading.is_refuted:
                chunk += await self._replay()
            self.has_ended = self.reading.is_done
            if chunk:
                self.last_sent = time.monotonic()
                return chunk.encode()
        return b""

    async def _look(self) -> Sequence[str]:
        """The entries that the log has and this client has not, read from the last one that it has: is it there?"""
        known = min(self.reading.number, 1)
        try:
            entries = await self.log.read(self.question_id, self.reading.number - known)
            if not entries and (known or not self.is_new):
                await self._explain_nothing()
        except TransientError:
            self.has_missed = self.is_gone = True
            return ()
        if len(entries) == READ_LIMIT:
            self.news.look()
        return entries[known:]

    async def _explain_nothing(self) -> None:
        """Not even the entry that this client has last: the log is gone, or it is another one and so is its text."""
        if await self.log.state(self.question_id) is None:
            self.is_gone = True
        elif self.reading.number:
            self.reading = self.reading.anew()
            self.news.look()

    async def _after_silence(self) -> str:
        """What to send when nothing came: the end without `stored`, the stored rest, a heartbeat, or nothing."""
        if self.reading.end:
            return self.reading.take_end()
        if self.has_missed:
            self.has_missed = False
            self.news.look()
        is_overdue = now() > self.deadline + timedelta(seconds=self.settings.overdue_grace)
        is_long = time.monotonic() - self.last_sent >= self.settings.heartbeat
        is_lost = await self._is_lost()
        if (is_lost or is_long or is_overdue) and (chunk := await self._replay()):
            return chunk
        if is_overdue:
            self.reading.is_done = True
            return frames.error_frame(frames.overdue(), self.reading.number + 1)
        return frames.HEARTBEAT if is_long else ""

    async def _is_lost(self) -> bool:
        try:
            state = await self.log.state(self.question_id)
        except TransientError:
            return True
        if state is None:
            return True
        self.deadline = state.deadline
        return False

    async def _replay(self) -> str:
        """The rest of the answer from the store; nothing while it has no outcome."""
        self.is_gone = False
        if self.reading.is_done:
            return ""
        outcome = await self.record.outcome(self.question_id, self.user)
        return "" if outcome is None else replay.complete(self.reading, outcome)
