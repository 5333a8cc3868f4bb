"""An answer as a client reads it: replayed from any number, then live, then exactly one `done` or `error`.

    log:    sources(1) delta(2) … delta(n) end(n+1) stored(n+2)
    client: sources(1) delta(2) … delta(n) done(n+1)

`done` waits a short grace for `stored`. If Redis loses the log, the rest comes from the stored interaction;
a client that did not read from the start gets a `sources` frame again, which starts the answer anew.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from uuid import UUID

from citewire.contracts.answers import EntryKind, FrameKind
from citewire.contracts.identity import User
from citewire.contracts.requests import GetInteraction
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal, TransientError
from gateway import frames
from gateway.hub import Hub
from gateway.marks import Marks
from gateway.settings import Settings

RUNNING = (InteractionStatus.PENDING, InteractionStatus.STREAMING)
# Seconds without news after which the stream makes sure that its log is still there.
CHECK_INTERVAL = 2.0

# Plain strings: there are hundreds of comparisons per answer.
_DELTA, _END, _STORED = EntryKind.DELTA.value, EntryKind.END.value, EntryKind.STORED.value


@dataclass
class _Reading:
    """Where one client is in one answer."""

    question_id: UUID
    user: User
    is_merged: bool
    # The last frame that the client has from an earlier stream, and the last entry that this stream has read.
    after: int
    number: int
    end: str | None = None
    is_stored: bool = False
    is_done: bool = False
    # Seconds since something was sent.
    silence: float = 0.0
    # Texts held back for a merged stream, and those sent, needed only if the log is lost.
    held: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)


class AnswerStreams:
    """Makes the streams of a gateway process."""

    def __init__(self, log: AnswerLog, hub: Hub, bus: Bus, marks: Marks, settings: Settings) -> None:
        self._log = log
        self._hub = hub
        self._bus = bus
        self._marks = marks
        self._settings = settings
        self._is_draining = False

    def drain(self) -> None:
        """Tell every client to come back elsewhere: this process stops."""
        self._is_draining = True
        self._hub.wake_all()

    async def read(self, question_id: UUID, user: User, after: int, *, merged: bool = False) -> AsyncGenerator[bytes]:
        """The frames of an answer numbered above `after`; `merged` sends all text in one delta."""
        # One entry more than asked for: a client that has the end already gets it once more.
        reading = _Reading(question_id, user, merged, after, number=max(0, after - 1))
        async with self._hub.wake_up(question_id) as news:
            while not (reading.is_done or self._is_draining):
                if chunk := await self._next(reading, news):
                    reading.silence = 0.0
                    yield chunk
        if not reading.is_done:
            yield frames.RECONNECT

    async def _next(self, reading: _Reading, news: asyncio.Event) -> bytes:
        """What the log has once there is news; without news, what to send in its place."""
        pause = self._settings.persist_grace if reading.end else CHECK_INTERVAL
        if await _happens(news, pause):
            news.clear()
            return self._take(reading, await self._news(reading))
        reading.silence += pause
        return await self._after_silence(reading)

    async def _news(self, reading: _Reading) -> list[str]:
        try:
            return await self._log.read(reading.question_id, reading.number)
        except TransientError:
            return []  # as if the log were lost: it comes back, or the answer comes from the store

    def _take(self, reading: _Reading, entries: list[str]) -> bytes:
        """The frames of new entries."""
        chunks: list[str] = []
        texts = reading.held if reading.is_merged else reading.sent
        for number, entry in enumerate(entries, reading.number + 1):
            kind, _, data = entry.partition(" ")
            reading.number = number
            if kind == _END:
                reading.end = data
                chunks += self._held(reading, number - 1)
            elif kind == _STORED:
                reading.is_stored = True
            elif number > reading.after:
                if kind == _DELTA:
                    texts.append(data)
                if kind != _DELTA or not reading.is_merged:
                    chunks.append(frames.frame(kind, data, number))
        if reading.end and reading.is_stored:
            chunks.append(self._end(reading))
        return "".join(chunks).encode()

    def _held(self, reading: _Reading, number: int) -> list[str]:
        if not reading.held:
            return []
        data, reading.held = frames.delta_of(frames.text_of(reading.held)), []
        return [frames.frame(FrameKind.DELTA, data, number)]

    def _end(self, reading: _Reading) -> str:
        reading.is_done = True
        number = reading.number - 1 if reading.is_stored else reading.number
        return frames.end_frame(str(reading.end), number, persisted=reading.is_stored)

    async def _after_silence(self, reading: _Reading) -> bytes:
        """What to send when nothing came: the end without `stored`, the stored rest, a heartbeat, or nothing."""
        if reading.end:
            return self._end(reading).encode()
        # A log that was lost may have been begun anew, shorter than what was read: then the store knows the end.
        is_long = reading.silence >= self._settings.heartbeat
        if (is_long or await self._is_lost(reading.question_id)) and (chunk := await self._from_store(reading)):
            return chunk
        return frames.HEARTBEAT if is_long else b""

    async def _is_lost(self, question_id: UUID) -> bool:
        try:
            return await self._log.state(question_id) is None
        except TransientError:
            return True

    async def _from_store(self, reading: _Reading) -> bytes:
        """The rest of an answer whose log is gone, once it is stored."""
        stored = await self.stored(reading.question_id, reading.user.user_id)
        if stored is None or stored.status in RUNNING:
            return b""
        (interaction,) = await self._marks.show([stored], reading.user)
        reading.is_done = True
        sent, chunks = frames.text_of(reading.sent), []
        if reading.after or not reading.number:
            # Nothing was sent, or only what follows a part that this stream does not know.
            sent, reading.number = "", 1
            chunks.append(frames.frame(FrameKind.SOURCES, frames.sources_of(interaction), 1))
        if rest := interaction.model_response.content[len(sent) :]:
            reading.number += 1
            chunks.append(frames.frame(FrameKind.DELTA, frames.delta_of(rest), reading.number))
        chunks.append(frames.end_frame(frames.done_of(interaction), reading.number + 1, persisted=True))
        return "".join(chunks).encode()

    async def stored(self, question_id: UUID, user_id: str) -> Interaction | None:
        """The interaction as the persister has it; None when it does not know it, or is away."""
        try:
            reply = await self._bus.ask(GetInteraction(question_id=question_id, user_id=user_id))
        except (Refusal, TransientError):
            return None
        return reply.interaction


async def _happens(event: asyncio.Event, timeout: float) -> bool:  # noqa: ASYNC109 - a pause, not a limit
    if event.is_set():
        return True
    try:
        async with asyncio.timeout(timeout):
            await event.wait()
    except TimeoutError:
        return False
    return True
