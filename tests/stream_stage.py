"""The parts around a gateway's streams in tests: a writer of logs, a store, and a client that keeps what comes."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from nats.aio.msg import Msg
from redis.asyncio import BlockingConnectionPool, Redis

from citewire.contracts.answers import DoneFrame, EntryKind, SourcesFrame
from citewire.contracts.events import now
from citewire.contracts.evidence import Quality, QualityLevel
from citewire.contracts.identity import User
from citewire.contracts.requests import GetInteraction, InteractionReply
from citewire.contracts.sessions import Interaction, InteractionStatus, ModelResponse, UserInput, new_session_id
from citewire.runtime.answer_log import AnswerLog, Lease, encode_delta, encode_entry
from citewire.runtime.bus import Bus
from citewire.runtime.errors import not_found
from citewire.runtime.service import Responder, respond
from gateway.disconnects import Disconnects
from gateway.hub import Hub
from gateway.marks import Marks
from gateway.settings import Settings
from gateway.stop import Stops
from gateway.stream import AnswerStream, AnswerStreams, Record

USER = "u"
READER = User(user_id=USER)
QUALITY = Quality(level=QualityLevel.OK, reason="fine")


@dataclass(frozen=True)
class Frame:
    """One frame as a client reads it."""

    number: int
    event: str
    data: dict[str, object]


def frames_in(chunk: bytes) -> list[Frame]:
    """The frames of a chunk; comments and frames without a number are left out."""
    frames = []
    for block in chunk.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "id" in fields:
            frames.append(Frame(int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return frames


def text_of(frames: list[Frame]) -> str:
    return "".join(str(frame.data["text"]) for frame in frames if frame.event == "delta")


class Writer:
    """Writes one answer's log, as generator and persister do."""

    def __init__(self, log: AnswerLog, question_id: UUID, lease: Lease) -> None:
        self._log = log
        self._lease = lease
        self._entries = list(lease.entries)
        self.question_id = question_id

    async def sources(self) -> None:
        frame = SourcesFrame(
            question_id=self.question_id,
            queries=(),
            sources=(),
            legs=(),
            quality=QUALITY,
        )
        await self._append(encode_entry(EntryKind.SOURCES, frame))

    async def deltas(self, *texts: str) -> None:
        await self._append(*(encode_delta(text) for text in texts))

    async def end(self, status: InteractionStatus = InteractionStatus.FINISHED, degraded: str | None = None) -> None:
        done = DoneFrame(
            session_id=new_session_id(self.question_id),
            question_id=self.question_id,
            status=status,
            degraded=degraded,
        )
        await self._append(encode_entry(EntryKind.END, done), is_end=True)

    async def _append(self, *entries: str, is_end: bool = False) -> None:
        outcome = await self._log.append(self._lease, entries, len(self._entries), is_end=is_end)
        if isinstance(outcome, int):
            self._entries += entries

    async def restore(self) -> None:
        """Write a lost log anew."""
        await self._log.restore(self._lease, self._entries)

    async def stored(self, status: InteractionStatus = InteractionStatus.FINISHED) -> None:
        await self._log.mark_stored(self.question_id, status)

    async def whole(self, *texts: str) -> None:
        await self.sources()
        if texts:
            await self.deltas(*texts)
        await self.end()
        await self.stored()


class Store:
    """What the persister knows in a test."""

    def __init__(self) -> None:
        self.interactions: dict[UUID, Interaction] = {}

    def keep(
        self,
        question_id: UUID,
        text: str,
        status: InteractionStatus = InteractionStatus.FINISHED,
        *,
        had_sources: bool = True,
    ) -> None:
        self.interactions[question_id] = Interaction(
            question_id=question_id,
            session_id=new_session_id(question_id),
            status=status,
            user_input=UserInput(content="Why?", at=now()),
            model_response=ModelResponse(content=text),
            quality=QUALITY if had_sources else None,
            degraded="the stage failed" if status is InteractionStatus.FAILED else None,
        )

    async def get(self, request: GetInteraction) -> InteractionReply:
        if request.question_id not in self.interactions:
            raise not_found("question")
        return InteractionReply(interaction=self.interactions[request.question_id])


class Client:
    """Reads a stream in the background and keeps what came."""

    def __init__(self, stream: AbstractAsyncContextManager[AnswerStream]) -> None:
        self.raw = b""
        self._stream = stream
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async with self._stream as stream:
            while chunk := await stream.next():
                self.raw += chunk

    @property
    def frames(self) -> list[Frame]:
        return frames_in(self.raw)

    @property
    def events(self) -> list[str]:
        return [frame.event for frame in self.frames]

    async def finish(self) -> list[Frame]:
        """All frames, once the stream has ended by itself."""
        async with asyncio.timeout(10):
            await self._reading
        return self.frames

    async def leave(self) -> None:
        # As often as it takes, as an ASGI server does: before Python 3.12, redis-py loses a cancellation now and then.
        while not self._reading.done():
            self._reading.cancel()
            await asyncio.wait({self._reading}, timeout=0.05)


@dataclass(frozen=True)
class Gateway:
    """The streams of one gateway process."""

    hub: Hub
    stops: Stops
    disconnects: Disconnects
    streams: AnswerStreams

    def read(self, writer: Writer, after: int = 0, *, merged: bool = False) -> Client:
        """A client of a writer's answer."""
        return self.read_answer(writer.question_id, after, merged=merged)

    def read_answer(self, question_id: UUID, after: int = 0, *, merged: bool = False) -> Client:
        """A client of an answer."""
        return Client(self.streams.follow(question_id, READER, after, merged=merged))


@contextlib.asynccontextmanager
async def running_gateway(redis: Redis, bus: Bus, **settings: float) -> AsyncGenerator[Gateway]:
    """A gateway whose waits are short."""
    chosen = Settings().model_copy(update={"heartbeat": 0.2, "persist_grace": 0.3} | settings)
    log = AnswerLog(redis)
    stops = Stops(bus, log, chosen.asker)
    async with Hub(redis).running() as hub, Disconnects(log, hub, stops).running() as disconnects:
        yield Gateway(
            hub, stops, disconnects, AnswerStreams(log, hub, Record(bus, Marks(bus, {})), disconnects, chosen)
        )


@contextlib.asynccontextmanager
async def running_store(bus: Bus) -> AsyncGenerator[Store]:
    """A store that answers as the persister does."""
    store = Store()
    async with telling_records(bus, store.get):
        yield store


@contextlib.asynccontextmanager
async def telling_records(
    bus: Bus, get: Callable[[GetInteraction], Awaitable[InteractionReply]]
) -> AsyncGenerator[None]:
    """Questions about the record are answered by `get`."""

    async def answer(message: Msg) -> None:
        await message.respond(await respond(Responder(GetInteraction, get), message))

    owner = await bus.client.subscribe(GetInteraction.subject, cb=answer)
    yield
    await owner.unsubscribe()


@contextlib.asynccontextmanager
async def pooled_redis(url: str) -> AsyncGenerator[Redis]:
    """A pool that waits for a free connection, as a process has it."""
    pool = BlockingConnectionPool.from_url(url, max_connections=64, decode_responses=True)
    async with Redis.from_pool(pool) as connection:
        yield connection


async def new_writer(answer_log: AnswerLog, seconds: float = 60, grace: float | None = None) -> Writer:
    """The writer of a new question with so many seconds of time."""
    question_id = uuid4()
    await answer_log.open(question_id, USER, "", now() + timedelta(seconds=seconds), grace)
    return Writer(answer_log, question_id, await answer_log.claim(question_id, USER, seconds))


async def lose_log(redis: Redis, question_id: UUID) -> None:
    await redis.delete(*[key async for key in redis.scan_iter(match=f"*{question_id}*")])
