"""Answers while Redis is away, empty or slow, taken over from dead workers, and texts that do not end by themselves."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from nats.aio.msg import Msg
from redis.asyncio import BlockingConnectionPool, Redis

from answer_stage import (
    QUESTION,
    DyingWriter,
    ScriptedWriter,
    answering,
    dies,
    entries,
    kinds,
    lose_log,
    outcome_of,
    published,
    text_in,
)
from builders import planned
from citewire.contracts.events import DocumentEvent, DocumentOffered, Event, InteractionFinished, RetrievalPlanned
from citewire.contracts.sessions import InteractionStatus
from citewire.runtime import answer_scripts, pipeline
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.delivery import deliver
from citewire.runtime.errors import TransientError
from citewire.runtime.provision import ANSWERER
from citewire.runtime.service import Wires
from citewire.text.normalise import clean
from embedded.servers import ServerUrls
from flaky_redis import FlakyRedis
from generator import answer, run
from generator.app import create_app
from generator.extractive import ExtractiveWriter
from restartable import Restartable, restartable_redis
from waiting import until, until_found


@pytest.fixture
async def flaky(servers: ServerUrls) -> AsyncGenerator[FlakyRedis]:
    async with FlakyRedis(servers.redis).running() as flaky:
        yield flaky


@pytest.fixture
async def flaky_log(flaky: FlakyRedis) -> AsyncGenerator[AnswerLog]:
    """A log whose way to Redis is the flaky one."""
    pool = BlockingConnectionPool.from_url(flaky.url, max_connections=8, decode_responses=True)
    async with Redis.from_pool(pool) as connection:
        yield AnswerLog(connection)


def holds(log: AnswerLog, plan: RetrievalPlanned, text: str) -> Callable[[], Awaitable[None]]:
    """A step of a script that waits until the log holds this text."""

    async def wait() -> None:
        async def is_written() -> bool:
            return await text_in(log, plan) == text

        await until_found(is_written)

    return wait


def then(act: Callable[[], object]) -> Callable[[], Awaitable[None]]:
    """A step of a script that does something which takes no time."""

    async def step() -> None:
        act()

    return step


async def assert_whole(bus: Bus, log: AnswerLog, plan: RetrievalPlanned, text: str) -> None:
    """The answer finished with this text, in the log as in its outcome."""
    interaction = await outcome_of(bus, plan)
    assert (interaction.status, interaction.model_response.content) == (InteractionStatus.FINISHED, text)
    assert await text_in(log, plan) == text
    assert [kind for kind, _ in itertools.groupby(await kinds(log, plan))] == ["sources", "delta", "end"]


# Redis


async def test_text_of_the_time_when_redis_was_away_is_written_once_it_is_back(
    bus: Bus, answer_log: AnswerLog, flaky_log: AnswerLog, flaky: FlakyRedis
) -> None:
    plan = planned(QUESTION, "kb")
    script = ("a", holds(answer_log, plan, "a"), then(flaky.cut), "b", "c", then(flaky.mend), "d")
    back = (holds(answer_log, plan, "abcd"), "e")

    await answering(bus, flaky_log, ScriptedWriter(*script, *back)).answer(plan)

    await assert_whole(bus, answer_log, plan, "abcde")


async def test_an_append_whose_reply_was_lost_is_not_written_twice(
    bus: Bus, answer_log: AnswerLog, flaky_log: AnswerLog, flaky: FlakyRedis
) -> None:
    plan = planned(QUESTION, "kb")
    script = ("a", holds(answer_log, plan, "a"), then(flaky.lose_reply), "b", "c")

    await answering(bus, flaky_log, ScriptedWriter(*script, holds(answer_log, plan, "abc"), "d")).answer(plan)

    await assert_whole(bus, answer_log, plan, "abcd")


async def test_an_end_whose_reply_was_lost_is_written_once(
    bus: Bus, answer_log: AnswerLog, flaky_log: AnswerLog, flaky: FlakyRedis
) -> None:
    plan = planned(QUESTION, "kb")

    script = ("a", holds(answer_log, plan, "a"), then(flaky.lose_reply))
    await answering(bus, flaky_log, ScriptedWriter(*script)).answer(plan)

    await assert_whole(bus, answer_log, plan, "a")


async def test_an_answer_is_published_whole_when_redis_stays_away(
    bus: Bus, answer_log: AnswerLog, flaky_log: AnswerLog, flaky: FlakyRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "END_PATIENCE", 0.2)
    plan = planned(QUESTION, "kb")
    script = ("Revenue grew [1]", holds(answer_log, plan, "Revenue grew [1]"), then(flaky.cut), " by 12 percent.")

    await answering(bus, flaky_log, ScriptedWriter(*script)).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.FINISHED
    assert interaction.model_response.content == "Revenue grew [1] by 12 percent."
    assert await text_in(answer_log, plan) == "Revenue grew [1]"


async def test_a_redis_that_hangs_does_not_hold_the_outcome_up(
    bus: Bus, flaky_log: AnswerLog, flaky: FlakyRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "END_PATIENCE", 0.2)
    monkeypatch.setattr("generator.write.END_PATIENCE", 0.2)
    plan = planned(QUESTION, "kb", seconds=2)

    await answering(bus, flaky_log, ScriptedWriter("a", then(flaky.hang), "b", asyncio.Event().wait)).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert (interaction.status, interaction.model_response.content) == (InteractionStatus.INCOMPLETE, "ab")


async def test_a_new_answer_begins_without_redis_and_has_its_log_once_it_is_there(
    bus: Bus, answer_log: AnswerLog, flaky_log: AnswerLog, flaky: FlakyRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "CLAIM_PATIENCE", 0.1)
    monkeypatch.setattr(run, "SOURCES_PATIENCE", 0.1)
    plan = planned(QUESTION, "kb")
    await answer_log.open(plan.question_id, "ann", "print", plan.deadline)
    flaky.cut()

    writer = ScriptedWriter("a", "b", then(flaky.mend), holds(answer_log, plan, "ab"), "c")
    await answering(bus, flaky_log, writer).answer(plan)

    await assert_whole(bus, answer_log, plan, "abc")
    state = await answer_log.state(plan.question_id)
    assert state is not None
    assert (state.user, state.fingerprint) == ("ann", "print")


async def test_a_redelivered_plan_waits_for_redis_before_anything_is_written(
    bus: Bus, answer_log: AnswerLog, flaky_log: AnswerLog, flaky: FlakyRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "CLAIM_PATIENCE", 0.1)
    plan, writer = planned(QUESTION, "kb"), ScriptedWriter("a", "b")
    with pytest.raises(TransientError):
        await answering(bus, answer_log, ScriptedWriter("a", dies)).answer(plan)
    flaky.cut()
    running = asyncio.create_task(answering(bus, flaky_log, writer).answer(plan, is_first=False))
    await asyncio.wait({running}, timeout=0.5)
    is_waiting = not running.done() and not writer.is_closed

    flaky.mend()
    await running

    assert is_waiting
    await assert_whole(bus, answer_log, plan, "ab")


async def test_a_redelivered_plan_without_redis_is_left_to_the_next_try(
    bus: Bus, flaky_log: AnswerLog, flaky: FlakyRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "CLAIM_PATIENCE", 0.1)
    flaky.cut()

    with pytest.raises(TransientError):
        await answering(bus, flaky_log, ScriptedWriter("a")).answer(planned(QUESTION, seconds=0), is_first=False)

    assert await published(bus) == 0


async def test_redis_emptied_in_mid_answer_numbers_nothing_anew(bus: Bus, answer_log: AnswerLog, redis: Redis) -> None:
    plan = planned(QUESTION, "kb")
    before: list[object] = []

    async def lose() -> None:
        before.extend(await entries(answer_log, plan))
        await lose_log(redis, plan)

    script = ("a", holds(answer_log, plan, "a"), "b", holds(answer_log, plan, "ab"), lose)
    await answering(bus, answer_log, ScriptedWriter(*script, "c", holds(answer_log, plan, "abc"), "d")).answer(plan)

    await assert_whole(bus, answer_log, plan, "abcd")
    assert (await entries(answer_log, plan))[: len(before)] == before


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Restartable]:
    with restartable_redis(tmp_path) as server:
        yield server


@pytest.fixture
async def own_log(own_redis: Restartable) -> AsyncGenerator[AnswerLog]:
    async with Redis.from_url(own_redis.url, decode_responses=True) as connection:
        yield AnswerLog(connection)


async def test_an_answer_goes_on_in_a_redis_that_was_killed_and_started_again(
    bus: Bus, own_log: AnswerLog, own_redis: Restartable
) -> None:
    plan = planned(QUESTION, "kb")
    script = ("a", holds(own_log, plan, "a"), then(own_redis.kill), "b", "c", then(own_redis.start))

    writer = ScriptedWriter(*script, "d", holds(own_log, plan, "abcd"), "e")
    await answering(bus, own_log, writer).answer(plan)

    await assert_whole(bus, own_log, plan, "abcde")


async def test_a_redis_that_was_paused_does_late_what_was_tried_again_and_writes_it_once(
    bus: Bus, own_log: AnswerLog, own_redis: Restartable, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(QUESTION, "kb")

    async def pause() -> None:
        monkeypatch.setattr(pipeline, "COMMAND_TIMEOUT", 0.2)
        own_redis.pause()

    async def until_given_up() -> None:
        link = own_log._pipe._link
        await until(lambda: link is not None and not link.is_open)
        monkeypatch.setattr(pipeline, "COMMAND_TIMEOUT", 5.0)
        own_redis.resume()

    script = ("a", holds(own_log, plan, "a"), pause, "b", until_given_up, "c", holds(own_log, plan, "abc"), "d")
    await answering(bus, own_log, ScriptedWriter(*script)).answer(plan)

    await assert_whole(bus, own_log, plan, "abcd")


async def test_a_worker_that_was_taken_over_does_not_write_into_an_emptied_redis(
    bus: Bus, answer_log: AnswerLog, redis: Redis
) -> None:
    plan = planned(QUESTION, "kb")

    async def lose_to_another() -> None:
        await lose_log(redis, plan)
        await answer_log.claim(plan.question_id, "u", 60)

    script = ("a", holds(answer_log, plan, "a"), lose_to_another, "b")
    await answering(bus, answer_log, ScriptedWriter(*script)).answer(plan)

    assert await entries(answer_log, plan) == []
    assert await published(bus) == 0


async def delivered(bus: Bus, plan: RetrievalPlanned, tries: int) -> Msg:
    """The message of a plan, delivered for the so-manieth time."""
    await bus.publish(plan)
    subscription = await bus.js.pull_subscribe_bind(ANSWERER.durable, stream=ANSWERER.stream)
    for _ in range(tries - 1):
        (message,) = await subscription.fetch(1)
        await message.nak()
    (message,) = await subscription.fetch(1)
    return message


@pytest.mark.parametrize(("tries", "waits"), [(1, False), (2, True)])
async def test_only_a_plan_that_was_delivered_before_waits_for_redis(  # noqa: PLR0913, PLR0917 - fixtures
    bus: Bus,
    redis: Redis,
    flaky_log: AnswerLog,
    flaky: FlakyRedis,
    monkeypatch: pytest.MonkeyPatch,
    tries: int,
    *,
    waits: bool,
) -> None:
    for module, name in ((answer, "CLAIM_PATIENCE"), (run, "SOURCES_PATIENCE"), (run, "END_PATIENCE")):
        monkeypatch.setattr(module, name, 0.1)
    message = await delivered(bus, planned(QUESTION), tries)
    flaky.cut()

    async with create_app().start(Wires(bus, redis, flaky_log)) as bindings:
        handling = asyncio.create_task(deliver(bus, bindings.consumers[0], message))
        done, _ = await asyncio.wait({handling}, timeout=1.5)
        flaky.mend()
        await handling

    assert bool(done) is not waits
    assert await published(bus) == 1


# Take-over


async def test_a_text_that_cannot_be_made_again_is_kept_and_ends_as_incomplete(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")
    with pytest.raises(TransientError):
        await answering(bus, answer_log, ScriptedWriter("Revenue grew [1] ", dies)).answer(plan)

    await answering(bus, answer_log, ScriptedWriter("never"), continuing=ExtractiveWriter()).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.INCOMPLETE
    assert interaction.model_response.content == await text_in(answer_log, plan) == "Revenue grew [1] "
    assert [citation.number for citation in interaction.model_response.citations] == [1]
    assert interaction.degraded == "the worker that wrote the answer was lost"
    assert await kinds(answer_log, plan) == ["sources", "delta", "end"]


async def test_a_text_that_was_not_begun_is_written_whatever_its_writer(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")
    with pytest.raises(TransientError):
        await answering(bus, answer_log, ScriptedWriter(dies)).answer(plan)

    await answering(bus, answer_log, ScriptedWriter("whole")).answer(plan)

    await assert_whole(bus, answer_log, plan, "whole")


@pytest.mark.parametrize("other", [("Revenue shrank",), ("Reve",), ("", "Revenue grew, they say"), ()])
async def test_a_text_of_another_version_is_never_spliced(
    bus: Bus, answer_log: AnswerLog, other: tuple[str, ...]
) -> None:
    plan = planned(QUESTION, "kb")
    with pytest.raises(TransientError):
        await answering(bus, answer_log, ScriptedWriter("Revenue ", "grew [1] ", dies)).answer(plan)

    await answering(bus, answer_log, ScriptedWriter(*other)).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.INCOMPLETE
    assert interaction.model_response.content == await text_in(answer_log, plan) == "Revenue grew [1] "
    assert interaction.degraded == "the worker that wrote the answer was lost"


async def test_an_answer_given_up_before_its_text_fails(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")
    worker = answering(bus, answer_log, DyingWriter(0))
    with pytest.raises(TransientError):
        await worker.answer(plan)

    await worker.give_up(plan, "away")

    assert (await outcome_of(bus, plan)).status is InteractionStatus.FAILED
    assert await kinds(answer_log, plan) == ["sources", "end"]


async def test_b07_a_stop_by_another_asker_changes_nothing(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    async def stop() -> None:
        worker.stop("shop", plan.question_id)

    worker = answering(bus, answer_log, ScriptedWriter("a", stop, "b"))
    await worker.answer(plan)

    assert plan.asker != "shop"
    await assert_whole(bus, answer_log, plan, "ab")


async def test_b07_a_stop_while_redis_is_away_is_kept(
    bus: Bus, flaky_log: AnswerLog, flaky: FlakyRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((answer, "CLAIM_PATIENCE"), (run, "SOURCES_PATIENCE"), (run, "END_PATIENCE")):
        monkeypatch.setattr(module, name, 0.1)
    plan = planned(QUESTION, "kb")
    flaky.cut()
    worker = answering(bus, flaky_log, ScriptedWriter("never"))
    running = asyncio.create_task(worker.answer(plan))
    await until(lambda: plan.question_id in worker._running)

    worker.stop(plan.asker, plan.question_id)
    await running

    interaction = await outcome_of(bus, plan)
    assert (interaction.status, interaction.model_response.content) == (InteractionStatus.STOPPED, "")


# Texts that do not end


class Endless:
    """Gives the same piece for ever, and never waits."""

    def __init__(self, piece: str) -> None:
        self._piece = piece
        self.is_closed = False

    async def write(self, *_: object) -> AsyncGenerator[str]:
        try:
            while True:
                yield self._piece
        finally:
            self.is_closed = True


async def test_endless_controls_fail_at_the_limit_of_characters(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    await answering(bus, answer_log, Endless("\x00\x01"), answer_characters=1000).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.FAILED
    assert interaction.degraded == "the text is longer than 1000 characters"
    assert await kinds(answer_log, plan) == ["sources", "end"]


async def test_an_endless_text_is_cut_at_its_limit(bus: Bus, answer_log: AnswerLog) -> None:
    plan, writer = planned(QUESTION, "kb"), Endless("abc")

    await answering(bus, answer_log, writer, answer_characters=10_000).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.INCOMPLETE
    assert interaction.model_response.content == await text_in(answer_log, plan) == ("abc" * 3334)[:10_000]
    assert interaction.degraded == "the text is longer than 10000 characters"
    assert writer.is_closed


class Overheard(Bus):
    """Keeps what would be published."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus.client, bus.js)
        self.events: list[Event | DocumentEvent | DocumentOffered] = []

    async def publish(self, event: Event | DocumentEvent | DocumentOffered) -> None:
        self.events.append(event)


async def test_a_log_that_is_full_ends_as_incomplete(bus: Bus, answer_log: AnswerLog) -> None:
    plan, overheard = planned(QUESTION, "kb"), Overheard(bus)
    half = "x" * (answer_scripts.MAX_LOG_BYTES // 2)
    is_written = holds(answer_log, plan, half)

    writer = ScriptedWriter(half, is_written, half, lambda: asyncio.sleep(0.2), "and more")
    await answering(overheard, answer_log, writer, answer_characters=3 * len(half)).answer(plan)

    (event,) = overheard.events
    assert isinstance(event, InteractionFinished)
    assert event.interaction.status is InteractionStatus.INCOMPLETE
    assert event.interaction.degraded == "the text is longer than its log may be"
    assert event.interaction.model_response.content == await text_in(answer_log, plan)


# Text hygiene


@pytest.mark.parametrize(
    "pieces",
    [
        ("a\x00b", "c\x1bd"),
        ("line\r", "\nnext\r", "last\r"),
        ("ok \ud83d", "\ude00 and \ud800", "lone\udc00"),
        ("\r", "\ud83d", "\ude00", "\n"),
        ("tab\t ", "日本語 مرحبا \u202e", "café"),
    ],
)
async def test_g01_the_streamed_text_is_the_stored_text_and_clean(
    bus: Bus, answer_log: AnswerLog, pieces: tuple[str, ...]
) -> None:
    plan = planned(QUESTION, "kb")

    await answering(bus, answer_log, ScriptedWriter(*pieces)).answer(plan)

    await assert_whole(bus, answer_log, plan, clean("".join(pieces)))


async def test_a_take_over_compares_clean_text(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")
    pieces = ("a\r", "\nb\x00", "c \ud83d", "\ude00")
    with pytest.raises(TransientError):
        await answering(bus, answer_log, ScriptedWriter(*pieces[:2], dies)).answer(plan)

    await answering(bus, answer_log, ScriptedWriter(*pieces)).answer(plan)

    await assert_whole(bus, answer_log, plan, "a\nbc 😀")
