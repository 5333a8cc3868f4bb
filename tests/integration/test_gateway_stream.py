"""An answer as clients read it, from a real log in Redis that the test writes."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest
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
from citewire.runtime.errors import TransientError, not_found
from citewire.runtime.service import Responder, respond
from embedded.servers import ServerUrls
from gateway import hub as hub_module
from gateway import stream as stream_module
from gateway.hub import Hub
from gateway.marks import Marks
from gateway.settings import Settings
from gateway.stream import AnswerStreams
from waiting import until

USER = "u"
READER = User(user_id=USER)


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
        self.question_id = question_id

    async def sources(self) -> None:
        frame = SourcesFrame(
            question_id=self.question_id,
            queries=(),
            sources=(),
            legs=(),
            quality=Quality(level=QualityLevel.OK, reason="fine"),
        )
        await self._log.append(self._lease, [encode_entry(EntryKind.SOURCES, frame)])

    async def deltas(self, *texts: str) -> None:
        await self._log.append(self._lease, [encode_delta(text) for text in texts])

    async def end(self, status: InteractionStatus = InteractionStatus.FINISHED, degraded: str | None = None) -> None:
        done = DoneFrame(
            session_id=new_session_id(self.question_id),
            question_id=self.question_id,
            status=status,
            degraded=degraded,
        )
        await self._log.append(self._lease, [encode_entry(EntryKind.END, done)], is_end=True)

    async def stored(self) -> None:
        await self._log.mark_stored(self.question_id)

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

    def keep(self, question_id: UUID, text: str, status: InteractionStatus = InteractionStatus.FINISHED) -> None:
        self.interactions[question_id] = Interaction(
            question_id=question_id,
            session_id=new_session_id(question_id),
            status=status,
            user_input=UserInput(content="Why?", at=now()),
            model_response=ModelResponse(content=text),
            degraded="the stage failed" if status is InteractionStatus.FAILED else None,
        )

    async def get(self, request: GetInteraction) -> InteractionReply:
        if request.question_id not in self.interactions:
            raise not_found("question")
        return InteractionReply(interaction=self.interactions[request.question_id])


class Client:
    """Reads a stream in the background and keeps what came."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self.raw = b""
        self._chunks = chunks
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for chunk in self._chunks:
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


@pytest.fixture
async def redis(servers: ServerUrls) -> AsyncGenerator[Redis]:
    """A pool that waits for a free connection, as a process has it."""
    pool = BlockingConnectionPool.from_url(servers.redis, max_connections=64, decode_responses=True)
    async with Redis.from_pool(pool) as connection:
        yield connection


@pytest.fixture
async def writer(answer_log: AnswerLog) -> Writer:
    return await new_writer(answer_log)


async def new_writer(answer_log: AnswerLog) -> Writer:
    question_id = uuid4()
    return Writer(answer_log, question_id, await answer_log.claim(question_id, USER, 60))


@pytest.fixture
async def store(bus: Bus) -> AsyncGenerator[Store]:
    store = Store()

    async def answer(message: Msg) -> None:
        await message.respond(await respond(Responder(GetInteraction, store.get), message))

    owner = await bus.client.subscribe(GetInteraction.subject, cb=answer)
    yield store
    await owner.unsubscribe()


@pytest.fixture
async def streams(
    redis: Redis, bus: Bus, answer_log: AnswerLog, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[AnswerStreams]:
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 0.05)
    async with Hub(redis).running() as hub:
        yield AnswerStreams(answer_log, hub, bus, Marks(bus, {}), Settings(heartbeat=0.2, persist_grace=0.3))


async def lose_log(redis: Redis, question_id: UUID) -> None:
    await redis.delete(*[key async for key in redis.scan_iter(match=f"*{question_id}*")])


async def test_a_live_answer_arrives_in_order_with_numbers_without_gaps(streams: AnswerStreams, writer: Writer) -> None:
    client = Client(streams.read(writer.question_id, READER, 0))
    await writer.sources()
    await until(lambda: client.events == ["sources"])
    await writer.deltas("a")
    await until(lambda: client.events == ["sources", "delta"])
    await writer.deltas("b", "c")
    await writer.end()
    await writer.stored()

    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "delta", "delta", "done"]
    assert [frame.number for frame in frames] == [1, 2, 3, 4, 5]
    assert text_of(frames) == "abc"
    assert frames[-1].data["persisted"] is True


async def test_a04_what_was_written_before_the_reader_came_is_replayed(streams: AnswerStreams, writer: Writer) -> None:
    await writer.whole("a", "b")

    frames = await Client(streams.read(writer.question_id, READER, 0)).finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "delta", "done"]
    assert text_of(frames) == "ab"


async def test_a03_fifty_readers_of_instant_answers_miss_nothing(streams: AnswerStreams, answer_log: AnswerLog) -> None:
    writers = [await new_writer(answer_log) for _ in range(50)]
    clients = [Client(streams.read(writer.question_id, READER, 0)) for writer in writers]

    await asyncio.gather(*(writer.whole("a", "b", "c") for writer in writers))
    answers = [await client.finish() for client in clients]

    assert [[frame.number for frame in frames] for frames in answers] == [[1, 2, 3, 4, 5]] * 50
    assert {text_of(frames) for frames in answers} == {"abc"}


async def test_a05_three_reconnects_in_two_hundred_deltas_lose_nothing(streams: AnswerStreams, writer: Writer) -> None:
    texts = [f"{number} " for number in range(200)]
    got: list[Frame] = []
    all_reconnected = asyncio.Event()

    async def read_until(count: int) -> None:
        client = Client(streams.read(writer.question_id, READER, got[-1].number if got else 0))
        await until(lambda: len(got) + len(client.frames) >= count)
        await client.leave()
        got.extend(client.frames)

    async def write() -> None:
        await writer.sources()
        for text in texts[:170]:
            await writer.deltas(text)
        await all_reconnected.wait()
        await writer.deltas(*texts[170:])
        await writer.end()
        await writer.stored()

    writing = asyncio.create_task(write())
    for count in (50, 100, 150):
        await read_until(count)
    all_reconnected.set()
    await writing
    got += await Client(streams.read(writer.question_id, READER, got[-1].number)).finish()

    assert [frame.number for frame in got] == [*range(1, 203)]
    assert text_of(got) == "".join(texts)


async def test_a06_two_questions_have_their_own_logs(streams: AnswerStreams, answer_log: AnswerLog) -> None:
    first, second = await new_writer(answer_log), await new_writer(answer_log)
    await first.whole("one")

    client = Client(streams.read(second.question_id, READER, 0))
    await second.whole("two")
    frames = await client.finish()

    assert [frame.number for frame in frames] == [1, 2, 3]
    assert text_of(frames) == "two"


async def test_a06_every_tab_sees_the_whole_answer(streams: AnswerStreams, writer: Writer) -> None:
    tabs = [Client(streams.read(writer.question_id, READER, 0)) for _ in range(3)]
    await writer.sources()
    await writer.deltas("a")
    await until(lambda: all(tab.events == ["sources", "delta"] for tab in tabs))
    await tabs[0].leave()
    await writer.deltas("b")
    await writer.end()
    await writer.stored()

    answers = [await tab.finish() for tab in tabs[1:]]

    assert [text_of(frames) for frames in answers] == ["ab", "ab"]


async def test_a08_without_a_cursor_the_answer_comes_from_the_start(streams: AnswerStreams, writer: Writer) -> None:
    await writer.sources()
    await writer.deltas(*(f"{number} " for number in range(50)))

    client = Client(streams.read(writer.question_id, READER, 0))
    await until(lambda: len(client.frames) == 51)
    await writer.deltas("last")
    await writer.end()
    await writer.stored()
    frames = await client.finish()

    assert [frame.number for frame in frames] == [*range(1, 54)]


async def test_a09_a_reconnect_after_the_end_brings_the_rest_and_done(streams: AnswerStreams, writer: Writer) -> None:
    await writer.whole(*(f"{number} " for number in range(99)))

    frames = await Client(streams.read(writer.question_id, READER, 90)).finish()

    assert [frame.number for frame in frames] == [*range(91, 102)]
    assert frames[-1].event == "done"


async def test_a_client_that_has_the_end_already_gets_it_once_more(streams: AnswerStreams, writer: Writer) -> None:
    await writer.whole("a")

    frames = await Client(streams.read(writer.question_id, READER, 3)).finish()

    assert [(frame.number, frame.event) for frame in frames] == [(3, "done")]


@pytest.mark.parametrize("after", [4, 99])
async def test_a_reconnect_behind_the_last_frame_ends_too(
    streams: AnswerStreams, writer: Writer, store: Store, after: int
) -> None:
    await writer.whole("ab")
    store.keep(writer.question_id, "ab")

    frames = await Client(streams.read(writer.question_id, READER, after)).finish()

    assert frames[-1].event == "done"


async def test_a15_spaces_at_the_edges_of_deltas_are_kept(streams: AnswerStreams, writer: Writer) -> None:
    await writer.whole("###", " **2. Title", "\n", "  x ")

    frames = await Client(streams.read(writer.question_id, READER, 0)).finish()

    assert text_of(frames) == "### **2. Title\n  x "


async def test_a_merged_stream_has_the_same_text_in_one_delta(streams: AnswerStreams, writer: Writer) -> None:
    client = Client(streams.read(writer.question_id, READER, 0, merged=True))
    await writer.sources()
    await writer.deltas("a", " b")
    await until(lambda: client.events == ["sources"])
    await writer.deltas("\u2028c")
    await writer.end()
    await writer.stored()

    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "done"]
    assert text_of(frames) == "a b\u2028c"
    assert frames[-1].number == 5


async def test_a_merged_answer_without_text_has_no_delta(streams: AnswerStreams, writer: Writer) -> None:
    await writer.whole()

    frames = await Client(streams.read(writer.question_id, READER, 0, merged=True)).finish()

    assert [frame.event for frame in frames] == ["sources", "done"]


async def test_b13_an_end_that_is_not_stored_within_the_grace_is_not_persisted(
    streams: AnswerStreams, writer: Writer
) -> None:
    await writer.sources()
    await writer.deltas("a")
    await writer.end()

    frames = await Client(streams.read(writer.question_id, READER, 0)).finish()

    assert frames[-1].event == "done"
    assert frames[-1].number == 3
    assert frames[-1].data["persisted"] is False


async def test_an_answer_that_failed_ends_with_an_error(streams: AnswerStreams, writer: Writer) -> None:
    await writer.sources()
    await writer.end(InteractionStatus.FAILED, "the stage\u2028failed")
    await writer.stored()

    client = Client(streams.read(writer.question_id, READER, 0))
    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "error"]
    assert frames[-1].data["status"] == 500
    assert frames[-1].data["detail"] == "the stage\u2028failed"
    assert "\u2028" not in client.raw.decode()


async def test_after_the_log_is_gone_the_same_frames_come_from_the_store(
    streams: AnswerStreams, bus: Bus, store: Store
) -> None:
    question_id = uuid4()
    store.keep(question_id, "the whole text")

    frames = await Client(streams.read(question_id, READER, 0)).finish()

    assert [(frame.number, frame.event) for frame in frames] == [(1, "sources"), (2, "delta"), (3, "done")]
    assert text_of(frames) == "the whole text"
    assert frames[-1].data["persisted"] is True


async def test_a_log_lost_in_the_middle_is_finished_from_the_store(
    streams: AnswerStreams, writer: Writer, store: Store, redis: Redis
) -> None:
    client = Client(streams.read(writer.question_id, READER, 0))
    await writer.sources()
    await writer.deltas("The answer", " is")
    await until(lambda: len(client.frames) == 3)

    await lose_log(redis, writer.question_id)
    store.keep(writer.question_id, "The answer is 42.")
    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "delta", "delta", "done"]
    assert [frame.number for frame in frames] == [1, 2, 3, 4, 5]
    assert text_of(frames) == "The answer is 42."


async def test_a_merged_log_lost_in_the_middle_is_finished_from_the_store(
    streams: AnswerStreams, writer: Writer, store: Store, redis: Redis
) -> None:
    client = Client(streams.read(writer.question_id, READER, 0, merged=True))
    await writer.sources()
    await writer.deltas("The answer", " is")
    await until(lambda: client.events == ["sources"])

    await lose_log(redis, writer.question_id)
    store.keep(writer.question_id, "The answer is 42.")
    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "done"]
    assert text_of(frames) == "The answer is 42."


async def test_a_reader_that_came_back_before_the_log_was_lost_gets_the_answer_anew(
    streams: AnswerStreams, writer: Writer, store: Store, redis: Redis
) -> None:
    await writer.sources()
    await writer.deltas("The answer", " is")
    client = Client(streams.read(writer.question_id, READER, 2))
    await until(lambda: client.events == ["delta"])

    await lose_log(redis, writer.question_id)
    store.keep(writer.question_id, "The answer is 42.")
    frames = await client.finish()

    restart = next(index for index, frame in enumerate(frames) if frame.event == "sources")
    assert text_of(frames[restart:]) == "The answer is 42."
    assert frames[-1].event == "done"


async def test_a_log_begun_anew_by_a_failure_does_not_leave_the_reader_waiting(
    streams: AnswerStreams, writer: Writer, store: Store, redis: Redis, answer_log: AnswerLog
) -> None:
    client = Client(streams.read(writer.question_id, READER, 0))
    await writer.sources()
    await writer.deltas("The", " answer", " is")
    await until(lambda: len(client.frames) == 4)

    await lose_log(redis, writer.question_id)
    sweeper = Writer(answer_log, writer.question_id, await answer_log.claim(writer.question_id, USER, 0))
    store.keep(writer.question_id, "", InteractionStatus.FAILED)
    await sweeper.end(InteractionStatus.FAILED, "out of time")
    await sweeper.stored()
    frames = await client.finish()

    assert frames[-1].event == "error"


async def test_a_question_on_record_without_an_outcome_is_waited_for(
    streams: AnswerStreams, writer: Writer, store: Store, redis: Redis
) -> None:
    await lose_log(redis, writer.question_id)
    store.keep(writer.question_id, "", InteractionStatus.PENDING)
    client = Client(streams.read(writer.question_id, READER, 0))
    await until(lambda: b":\n\n" in client.raw)

    store.keep(writer.question_id, "text")
    frames = await client.finish()

    assert text_of(frames) == "text"


async def test_a_failed_answer_from_the_store_ends_with_an_error(
    streams: AnswerStreams, bus: Bus, store: Store
) -> None:
    question_id = uuid4()
    store.keep(question_id, "", InteractionStatus.FAILED)

    frames = await Client(streams.read(question_id, READER, 0)).finish()

    assert [frame.event for frame in frames] == ["sources", "error"]
    assert frames[-1].data["detail"] == "the stage failed"


async def test_a17_a_draining_gateway_sends_every_client_elsewhere(streams: AnswerStreams, writer: Writer) -> None:
    client = Client(streams.read(writer.question_id, READER, 0))
    await writer.sources()
    await until(lambda: client.events == ["sources"])

    streams.drain()
    await client.finish()

    assert client.raw.endswith(b"event: reconnect\ndata: {}\n\n")


async def test_a17_the_rest_comes_from_another_gateway(
    streams: AnswerStreams, writer: Writer, redis: Redis, bus: Bus, answer_log: AnswerLog
) -> None:
    client = Client(streams.read(writer.question_id, READER, 0))
    await writer.sources()
    await writer.deltas("a")
    await until(lambda: len(client.frames) == 2)
    streams.drain()
    await client.finish()

    async with Hub(redis).running() as hub:
        other = AnswerStreams(answer_log, hub, bus, Marks(bus, {}), Settings())
        rest = Client(other.read(writer.question_id, READER, client.frames[-1].number))
        await writer.deltas("b")
        await writer.end()
        await writer.stored()
        frames = client.frames + await rest.finish()

    assert [frame.number for frame in frames] == [1, 2, 3, 4]
    assert text_of(frames) == "ab"


async def test_a02_silence_is_filled_with_comments_that_are_no_frames(streams: AnswerStreams, writer: Writer) -> None:
    client = Client(streams.read(writer.question_id, READER, 0))
    await writer.sources()
    await until(lambda: client.raw.count(b":\n\n") >= 2)
    await writer.deltas("a")
    await writer.end()
    await writer.stored()

    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "done"]


async def test_a_client_that_leaves_is_forgotten(streams: AnswerStreams, writer: Writer) -> None:
    client = Client(streams.read(writer.question_id, READER, 0))
    await writer.sources()
    await until(lambda: client.events == ["sources"])

    await client.leave()

    assert streams._hub._waiting == {}


async def test_wake_ups_come_from_the_subscription_and_not_from_looking_again(
    streams: AnswerStreams, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 60)
    client = Client(streams.read(writer.question_id, READER, 0))

    for text in "abcdefghij":
        await writer.deltas(text)
        await until(lambda text=text: text_of(client.frames).endswith(text))  # type: ignore[misc] # the default

    await client.leave()


async def test_a_lost_subscription_is_made_again_and_what_it_missed_is_read(
    streams: AnswerStreams, writer: Writer, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 60)
    client = Client(streams.read(writer.question_id, READER, 0))
    await writer.sources()
    await until(lambda: client.events == ["sources"])

    await redis.client_kill_filter(_type="pubsub")
    await writer.deltas("missed")
    await until(lambda: text_of(client.frames) == "missed")
    await writer.deltas(" and seen")
    await until(lambda: text_of(client.frames) == "missed and seen")

    await client.leave()


async def test_a_subscription_that_does_not_answer_is_made_again(
    answer_log: AnswerLog, bus: Bus, writer: Writer, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "PROBE_INTERVAL", 0.05)
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 60)
    async with Hub(redis).running() as hub:
        client = Client(
            AnswerStreams(answer_log, hub, bus, Marks(bus, {}), Settings()).read(writer.question_id, READER, 0)
        )
        await writer.sources()
        await until(lambda: client.events == ["sources"])

        await redis.execute_command("CLIENT", "PAUSE", 500)  # type: ignore[no-untyped-call] # redis-py
        await until(lambda: hub._connection is None)
        await writer.deltas("a")
        await until(lambda: text_of(client.frames) == "a")

        await client.leave()


async def test_redis_away_for_a_moment_does_not_break_the_stream(
    streams: AnswerStreams, writer: Writer, answer_log: AnswerLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(streams.read(writer.question_id, READER, 0))
    await writer.sources()
    await until(lambda: client.events == ["sources"])
    with monkeypatch.context() as away:
        refused = 0

        async def refuse(*_: object) -> list[str]:
            nonlocal refused
            refused += 1
            raise TransientError("Redis: away")

        away.setattr(answer_log, "read", refuse)
        away.setattr(answer_log, "state", refuse)
        await until(lambda: refused > 3)
    await writer.deltas("a")
    await writer.end()
    await writer.stored()

    frames = await client.finish()

    assert text_of(frames) == "a"
    assert frames[-1].event == "done"
