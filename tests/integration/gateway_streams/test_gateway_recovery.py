"""An answer whose log is lost, late, or not the truth: what the client gets all the same."""

from uuid import uuid4

import pytest
from redis.asyncio import Redis

from citewire.contracts.sessions import InteractionStatus
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError
from gateway import hub as hub_module
from gateway import stream as stream_module
from stream_stage import (
    USER,
    Gateway,
    Store,
    Writer,
    lose_log,
    new_writer,
    running_gateway,
    text_of,
)
from waiting import until


async def test_b13_an_end_that_is_not_stored_within_the_grace_is_not_persisted(
    gateway: Gateway, writer: Writer
) -> None:
    await writer.sources()
    await writer.deltas("a")
    await writer.end()

    frames = await gateway.read(writer).finish()

    assert frames[-1].event == "done"
    assert frames[-1].number == 3
    assert frames[-1].data["persisted"] is False


async def test_after_the_log_is_gone_the_same_frames_come_from_the_store(gateway: Gateway, store: Store) -> None:
    question_id = uuid4()
    store.keep(question_id, "the whole text")

    frames = await gateway.read_answer(question_id).finish()

    assert [(frame.number, frame.event) for frame in frames] == [(1, "sources"), (2, "delta"), (3, "done")]
    assert text_of(frames) == "the whole text"
    assert frames[-1].data["persisted"] is True


async def test_a05_a_reader_after_the_log_is_gone_does_not_wait(
    gateway: Gateway, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 60)
    question_id = uuid4()
    store.keep(question_id, "text")

    frames = await gateway.read_answer(question_id).finish()

    assert text_of(frames) == "text"


async def test_a_log_lost_in_the_middle_is_finished_from_the_store(
    gateway: Gateway, writer: Writer, store: Store, redis: Redis
) -> None:
    client = gateway.read(writer)
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
    gateway: Gateway, writer: Writer, store: Store, redis: Redis
) -> None:
    client = gateway.read(writer, merged=True)
    await writer.sources()
    await writer.deltas("The answer", " is")
    await until(lambda: client.events == ["sources"])

    await lose_log(redis, writer.question_id)
    store.keep(writer.question_id, "The answer is 42.")
    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "done"]
    assert text_of(frames) == "The answer is 42."


async def test_a_reader_that_came_back_before_the_log_was_lost_gets_the_answer_anew(
    gateway: Gateway, writer: Writer, store: Store, redis: Redis
) -> None:
    await writer.sources()
    await writer.deltas("The answer", " is")
    client = gateway.read(writer, 2)
    await until(lambda: client.events == ["delta"])

    await lose_log(redis, writer.question_id)
    store.keep(writer.question_id, "The answer is 42.")
    frames = await client.finish()

    restart = next(index for index, frame in enumerate(frames) if frame.event == "sources")
    assert text_of(frames[restart:]) == "The answer is 42."
    assert frames[-1].event == "done"


async def test_a_log_begun_anew_by_a_failure_does_not_leave_the_reader_waiting(
    gateway: Gateway, writer: Writer, store: Store, redis: Redis, answer_log: AnswerLog
) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await writer.deltas("The", " answer", " is")
    await until(lambda: len(client.frames) == 4)

    await lose_log(redis, writer.question_id)
    sweeper = Writer(answer_log, writer.question_id, await answer_log.claim(writer.question_id, USER, 0))
    store.keep(writer.question_id, "", InteractionStatus.FAILED)
    await sweeper.end(InteractionStatus.FAILED, "out of time")
    await sweeper.stored(InteractionStatus.FAILED)
    frames = await client.finish()

    assert frames[-1].event == "error"


async def test_a_question_on_record_without_an_outcome_is_waited_for(
    gateway: Gateway, writer: Writer, store: Store, redis: Redis
) -> None:
    await lose_log(redis, writer.question_id)
    store.keep(writer.question_id, "", InteractionStatus.PENDING)
    client = gateway.read(writer)
    await until(lambda: b":\n\n" in client.raw)

    store.keep(writer.question_id, "text")
    frames = await client.finish()

    assert text_of(frames) == "text"


@pytest.mark.parametrize(("had_sources", "events"), [(True, ["sources", "error"]), (False, ["error"])])
async def test_a_failed_answer_from_the_store_has_the_same_frames_as_live(
    gateway: Gateway, store: Store, had_sources: bool, events: list[str]
) -> None:
    question_id = uuid4()
    store.keep(question_id, "", InteractionStatus.FAILED, had_sources=had_sources)

    frames = await gateway.read_answer(question_id).finish()

    assert [frame.event for frame in frames] == events
    assert [frame.number for frame in frames] == [*range(1, len(events) + 1)]
    assert frames[-1].data["detail"] == "the stage failed"


async def test_an_answer_stopped_before_its_sources_has_the_same_frames_from_the_store(
    gateway: Gateway, store: Store
) -> None:
    question_id = uuid4()
    store.keep(question_id, "", InteractionStatus.STOPPED, had_sources=False)

    frames = await gateway.read_answer(question_id).finish()

    assert [(frame.number, frame.event) for frame in frames] == [(1, "done")]


async def test_a_stored_text_that_does_not_begin_with_what_was_sent_begins_anew(
    gateway: Gateway, writer: Writer, store: Store, redis: Redis
) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await writer.deltas("Something else")
    await until(lambda: len(client.frames) == 2)

    await lose_log(redis, writer.question_id)
    store.keep(writer.question_id, "The answer is 42.")
    frames = await client.finish()

    assert [frame.event for frame in frames[2:]] == ["sources", "delta", "done"]
    assert text_of(frames[2:]) == "The answer is 42."


@pytest.mark.parametrize("text", ['日本 😀 \u2028 \x00\n"\\', "\U0001d400" * 3, "a\u0301"])
async def test_any_text_is_continued_from_the_store_where_it_was_cut(
    gateway: Gateway, writer: Writer, store: Store, redis: Redis, text: str
) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await writer.deltas(*text)
    await until(lambda: len(client.frames) == 1 + len(text))

    await lose_log(redis, writer.question_id)
    store.keep(writer.question_id, text + "rest")
    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", *["delta"] * len(text), "delta", "done"]
    assert text_of(frames) == text + "rest"


async def test_a_log_that_its_writer_restores_is_read_on_without_gap_or_repetition(
    gateway: Gateway, writer: Writer, redis: Redis
) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await writer.deltas("a", "b")
    await until(lambda: len(client.frames) == 3)

    await redis.flushall()
    await writer.restore()
    await writer.deltas("c")
    await writer.end()
    await writer.stored()
    frames = await client.finish()

    assert [frame.number for frame in frames] == [1, 2, 3, 4, 5]
    assert text_of(frames) == "abc"


async def test_a_log_that_another_writer_begins_anew_is_sent_from_its_sources(
    gateway: Gateway, writer: Writer, redis: Redis, answer_log: AnswerLog
) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await writer.deltas("a", "b", "c")
    await until(lambda: len(client.frames) == 4)

    await lose_log(redis, writer.question_id)
    other = Writer(answer_log, writer.question_id, await answer_log.claim(writer.question_id, USER, 60))
    await other.whole("d")
    frames = await client.finish()

    assert [(frame.number, frame.event) for frame in frames[4:]] == [(1, "sources"), (2, "delta"), (3, "done")]
    assert text_of(frames[4:]) == "d"


async def test_what_is_stored_counts_where_the_log_says_another_end(
    gateway: Gateway, writer: Writer, store: Store
) -> None:
    store.keep(writer.question_id, "too late", InteractionStatus.INCOMPLETE)
    client = gateway.read(writer)
    await writer.sources()
    await writer.deltas("too", " late")
    await writer.end(InteractionStatus.FINISHED)
    await writer.stored(InteractionStatus.INCOMPLETE)

    frames = await client.finish()

    assert [frame.number for frame in frames] == [1, 2, 3, 4]
    assert text_of(frames) == "too late"
    assert frames[-1].data["status"] == "incomplete"


async def test_a_stored_failure_counts_where_the_log_says_another_end(
    gateway: Gateway, writer: Writer, store: Store
) -> None:
    store.keep(writer.question_id, "", InteractionStatus.FAILED)
    client = gateway.read(writer)
    await writer.sources()
    await writer.deltas("a")
    await writer.end(InteractionStatus.FINISHED)
    await writer.stored(InteractionStatus.FAILED)

    frames = await client.finish()

    assert [(frame.number, frame.event) for frame in frames] == [(1, "sources"), (2, "delta"), (3, "error")]


async def test_a10_a_stream_whose_time_has_passed_ends_whatever_died(
    redis: Redis, bus: Bus, answer_log: AnswerLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 0.05)
    monkeypatch.setattr(hub_module, "TICK", 0.01)
    writer = await new_writer(answer_log, seconds=0.2)
    await writer.sources()
    await writer.deltas("a", "b", "c")
    async with running_gateway(redis, bus, overdue_grace=0.1) as gateway:
        frames = await gateway.read(writer).finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "delta", "delta", "error"]
    assert (frames[-1].number, frames[-1].data["status"]) == (5, 504)


async def test_wake_ups_come_from_the_subscription_and_not_from_looking_again(
    gateway: Gateway, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 60)
    client = gateway.read(writer)

    for text in "abcdefghij":
        await writer.deltas(text)
        await until(lambda text=text: text_of(client.frames).endswith(text))  # type: ignore[misc] # the default

    await client.leave()


async def test_a_lost_subscription_is_made_again_and_what_it_missed_is_read(
    gateway: Gateway, writer: Writer, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 60)
    client = gateway.read(writer)
    await writer.sources()
    await until(lambda: client.events == ["sources"])

    await redis.client_kill_filter(_type="pubsub")
    await writer.deltas("missed")
    await until(lambda: text_of(client.frames) == "missed")
    await writer.deltas(" and seen")
    await until(lambda: text_of(client.frames) == "missed and seen")

    await client.leave()


async def test_a_subscription_that_does_not_answer_is_made_again(
    bus: Bus, writer: Writer, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "PROBE_INTERVAL", 0.05)
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 60)
    async with running_gateway(redis, bus) as gateway:
        client = gateway.read(writer)
        await writer.sources()
        await until(lambda: client.events == ["sources"])

        await redis.execute_command("CLIENT", "PAUSE", 500)  # type: ignore[no-untyped-call] # redis-py
        await until(lambda: gateway.hub._connection is None)
        await writer.deltas("a")
        await until(lambda: text_of(client.frames) == "a")

        await client.leave()


async def test_redis_away_for_a_moment_does_not_break_the_stream(
    gateway: Gateway, writer: Writer, answer_log: AnswerLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await until(lambda: client.events == ["sources"])
    with monkeypatch.context() as away:
        refused = 0

        async def refuse(*_: object) -> list[str]:
            nonlocal refused
            refused += 1
            raise TransientError("Redis: away")

        away.setattr(AnswerLog, "read", refuse)
        away.setattr(AnswerLog, "state", refuse)
        await until(lambda: refused > 3)
    await writer.deltas("a")
    await writer.end()
    await writer.stored()

    frames = await client.finish()

    assert text_of(frames) == "a"
    assert frames[-1].event == "done"
