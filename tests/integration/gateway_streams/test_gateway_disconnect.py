"""Answers that somebody stops, and those whose last reader leaves."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from nats.aio.msg import Msg
from redis.asyncio import Redis

from citewire.contracts.streams import STOP_SUBJECT
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError
from gateway.stop import Stops
from stream_stage import Client, Gateway, Writer, new_writer, running_gateway
from waiting import until, until_found

GRACE = 0.2


@pytest.fixture
async def gateway(redis: Redis, bus: Bus) -> AsyncGenerator[Gateway]:
    async with running_gateway(redis, bus) as gateway:
        yield gateway


@pytest.fixture
async def writer(answer_log: AnswerLog) -> Writer:
    """Of an answer that a disconnect stops."""
    return await new_writer(answer_log, grace=GRACE)


@pytest.fixture
async def stop_messages(bus: Bus) -> AsyncGenerator[list[str]]:
    """The subjects of all stop messages."""
    subjects: list[str] = []

    async def note(message: Msg) -> None:
        subjects.append(message.subject)

    subscription = await bus.client.subscribe(f"{STOP_SUBJECT}.>", cb=note)
    yield subjects
    await subscription.unsubscribe()


async def read_some(gateway: Gateway, writer: Writer) -> Client:
    """A client that has begun to read."""
    client = gateway.read(writer)
    await until(lambda: client.events[:1] == ["sources"])
    return client


async def is_stopped(answer_log: AnswerLog, writer: Writer) -> bool:
    state = await answer_log.state(writer.question_id)
    return state is not None and state.is_stopped


async def test_an_answer_whose_only_reader_left_for_too_long_is_stopped(
    gateway: Gateway, writer: Writer, answer_log: AnswerLog
) -> None:
    await writer.sources()
    client = await read_some(gateway, writer)

    await client.leave()

    await until_found(lambda: is_stopped(answer_log, writer))


async def test_b09_an_answer_that_does_not_ask_for_it_goes_on_without_readers(
    gateway: Gateway, answer_log: AnswerLog
) -> None:
    writer = await new_writer(answer_log)
    await writer.sources()
    client = await read_some(gateway, writer)

    await client.leave()
    await until(lambda: not gateway.disconnects.is_waiting)

    assert not await is_stopped(answer_log, writer)


async def test_a_reader_that_comes_back_in_time_keeps_the_answer(
    gateway: Gateway, writer: Writer, answer_log: AnswerLog
) -> None:
    await writer.sources()
    client = await read_some(gateway, writer)

    await client.leave()
    back = await read_some(gateway, writer)
    await until(lambda: not gateway.disconnects.is_waiting)

    assert not await is_stopped(answer_log, writer)
    await back.leave()


async def test_a_second_reader_keeps_the_answer(gateway: Gateway, writer: Writer, answer_log: AnswerLog) -> None:
    await writer.sources()
    client, other = await read_some(gateway, writer), await read_some(gateway, writer)

    await client.leave()

    assert not gateway.disconnects.is_waiting
    await other.leave()


async def test_a_reader_at_another_gateway_keeps_the_answer(
    gateway: Gateway, writer: Writer, answer_log: AnswerLog, redis: Redis, bus: Bus
) -> None:
    await writer.sources()
    client = await read_some(gateway, writer)
    async with running_gateway(redis, bus) as elsewhere:
        other = await read_some(elsewhere, writer)

        await client.leave()
        await until(lambda: not gateway.disconnects.is_waiting)

        assert not await is_stopped(answer_log, writer)
        await other.leave()


async def test_a17_a_draining_gateway_stops_no_answer(gateway: Gateway, writer: Writer) -> None:
    await writer.sources()
    client = await read_some(gateway, writer)

    gateway.streams.drain()
    await client.finish()

    assert not gateway.disconnects.is_waiting


async def test_a_reader_that_leaves_after_the_end_stops_nothing(
    gateway: Gateway, writer: Writer, stop_messages: list[str], bus: Bus
) -> None:
    await writer.sources()
    client = await read_some(gateway, writer)
    await writer.end()

    await client.leave()
    await until(lambda: not gateway.disconnects.is_waiting)
    await bus.client.flush()

    assert stop_messages == []


async def test_a_gateway_that_ends_leaves_no_wait_behind(redis: Redis, bus: Bus, answer_log: AnswerLog) -> None:
    writer = await new_writer(answer_log, grace=600)
    await writer.sources()
    before = asyncio.all_tasks()
    async with running_gateway(redis, bus) as gateway:
        client = await read_some(gateway, writer)
        await client.leave()
        await until(lambda: gateway.disconnects.is_waiting)

    assert [task for task in asyncio.all_tasks() - before if "_stop_later" in repr(task)] == []


async def test_b07_a_stop_reaches_the_writer_by_message_and_by_mark(
    answer_log: AnswerLog, writer: Writer, bus: Bus, stop_messages: list[str]
) -> None:
    await Stops(bus, answer_log, "web").stop(writer.question_id)

    await until(lambda: stop_messages == [f"{STOP_SUBJECT}.web.{writer.question_id}"])
    assert await is_stopped(answer_log, writer)


async def test_b07_a_stop_reaches_the_writer_while_redis_is_away(
    answer_log: AnswerLog, writer: Writer, bus: Bus, stop_messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> bool:
        raise TransientError("Redis: away")

    monkeypatch.setattr(AnswerLog, "request_stop", refuse)

    await Stops(bus, answer_log, "web").stop(writer.question_id)

    await until(lambda: stop_messages == [f"{STOP_SUBJECT}.web.{writer.question_id}"])
