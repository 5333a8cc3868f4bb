"""The answer log on a real Redis: numbers, leases, stop, end, and what is left of it when Redis loses it."""

import asyncio
import itertools
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from citewire.contracts.answers import DeltaFrame, EntryKind
from citewire.runtime.answer_log import (
    LOG_LIFE,
    AnswerLog,
    AnswerState,
    AppendOutcome,
    channel,
    encode_delta,
    encode_entry,
    split_entry,
)
from citewire.runtime.errors import TransientError


@pytest.fixture
def question_id() -> UUID:
    return uuid4()


async def keys_of(redis: Redis, question_id: UUID) -> list[str]:
    return sorted([str(key) async for key in redis.scan_iter(match=f"*{question_id}*")])


async def lose(redis: Redis, question_id: UUID) -> None:
    await redis.delete(*await keys_of(redis, question_id))


async def test_entries_are_numbered_from_one_in_the_order_of_writing(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)

    first = await answer_log.append(lease, ["delta a"])
    third = await answer_log.append(lease, ["delta b", "delta c"])

    assert (first, third) == (1, 3)
    assert await answer_log.read(question_id, 0) == ["delta a", "delta b", "delta c"]


async def test_reading_after_a_number_brings_only_what_follows(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a", "delta b", "delta c"])

    assert await answer_log.read(question_id, 2) == ["delta c"]
    assert await answer_log.read(question_id, 3) == []


async def test_an_append_wakes_the_readers(answer_log: AnswerLog, redis: Redis, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    async with redis.pubsub(ignore_subscribe_messages=True) as pubsub:
        await pubsub.subscribe(channel(question_id))
        await pubsub.get_message(timeout=5)

        await answer_log.append(lease, ["delta a"])
        message = await pubsub.get_message(timeout=5)

    assert message is not None
    assert message["channel"] == channel(question_id)


async def test_an_old_lease_is_refused(answer_log: AnswerLog, question_id: UUID) -> None:
    old = await answer_log.claim(question_id, "u", 60)
    await answer_log.claim(question_id, "u", 60)

    outcome = await answer_log.append(old, ["delta late"])

    assert outcome is AppendOutcome.FENCED
    assert await answer_log.read(question_id, 0) == []


async def test_an_old_lease_cannot_end_the_answer(answer_log: AnswerLog, question_id: UUID) -> None:
    old = await answer_log.claim(question_id, "u", 60)
    new = await answer_log.claim(question_id, "u", 60)

    outcome = await answer_log.append(old, ["end {}"], is_end=True)

    assert outcome is AppendOutcome.FENCED
    assert await answer_log.append(new, ["delta a"]) == 1


async def test_a_claim_returns_what_is_written(answer_log: AnswerLog, question_id: UUID) -> None:
    first = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(first, ["sources {}", "delta a"])

    second = await answer_log.claim(question_id, "u", 60)

    assert first.entries == ()
    assert second.entries == ("sources {}", "delta a")
    assert second.epoch > first.epoch


async def test_two_writers_never_interleave(answer_log: AnswerLog, question_id: UUID) -> None:
    async def write(name: str) -> None:
        lease = await answer_log.claim(question_id, "u", 60)
        for number in range(20):
            if await answer_log.append(lease, [f"delta {name}{number}"]) is AppendOutcome.FENCED:
                return

    await asyncio.gather(write("a"), write("b"))

    writers = [entry[len("delta ")] for entry in await answer_log.read(question_id, 0)]
    assert len(list(itertools.groupby(writers))) <= 2
    assert len(writers) >= 20


async def test_a_stop_refuses_text_and_lets_the_end_through(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.request_stop(question_id)

    text = await answer_log.append(lease, ["delta a"])
    end = await answer_log.append(lease, ["end {}"], is_end=True)

    assert (text, end) == (AppendOutcome.STOPPED, 1)


async def test_b07_a_stop_before_the_first_writer_is_seen_by_it(answer_log: AnswerLog, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "hash")
    await answer_log.request_stop(question_id)

    lease = await answer_log.claim(question_id, "u", 60)

    assert lease.is_stopped


async def test_a_stop_of_an_unknown_answer_leaves_nothing_behind(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    await answer_log.request_stop(question_id)

    assert await keys_of(redis, question_id) == []


async def test_nothing_follows_the_end(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["end {}"], is_end=True)

    text = await answer_log.append(lease, ["delta late"])
    end = await answer_log.append(lease, ["end {}"], is_end=True)

    assert (text, end) == (AppendOutcome.ENDED, AppendOutcome.ENDED)
    assert await answer_log.read(question_id, 0) == ["end {}"]


async def test_a_lost_log_takes_nothing(answer_log: AnswerLog, redis: Redis, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["sources {}", "delta a"])
    await lose(redis, question_id)

    outcome = await answer_log.append(lease, ["delta b"])

    assert outcome is AppendOutcome.LOST
    assert await keys_of(redis, question_id) == []


async def test_stored_is_marked_after_the_end_and_once(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["end {}"], is_end=True)

    await answer_log.mark_stored(question_id)
    await answer_log.mark_stored(question_id)

    assert await answer_log.read(question_id, 0) == ["end {}", "stored {}"]


async def test_stored_is_not_marked_before_the_end(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a"])

    await answer_log.mark_stored(question_id)

    assert await answer_log.read(question_id, 0) == ["delta a"]


async def test_opening_twice_notes_only_the_first(answer_log: AnswerLog, question_id: UUID) -> None:
    first = await answer_log.open(question_id, "u", "hash")
    second = await answer_log.open(question_id, "other", "other hash")

    assert first.is_new
    assert not second.is_new
    assert (second.user, second.body_hash) == ("u", "hash")


async def test_an_opening_taken_back_can_be_made_again(answer_log: AnswerLog, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "hash")
    await answer_log.forget(question_id)

    assert await answer_log.state(question_id) is None
    assert (await answer_log.open(question_id, "u", "hash")).is_new


async def test_the_state_tells_owner_stop_and_end(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    running = await answer_log.state(question_id)
    await answer_log.request_stop(question_id)
    await answer_log.append(lease, ["end {}"], is_end=True)

    ended = await answer_log.state(question_id)

    assert running == AnswerState("u", is_stopped=False, is_ended=False)
    assert ended == AnswerState("u", is_stopped=True, is_ended=True)


async def test_the_first_owner_stays_the_owner(answer_log: AnswerLog, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "hash")
    await answer_log.claim(question_id, "somebody else", 60)

    assert await answer_log.state(question_id) == AnswerState("u", is_stopped=False, is_ended=False)


async def test_every_key_expires(answer_log: AnswerLog, redis: Redis, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a"])
    running = [await redis.ttl(key) for key in await keys_of(redis, question_id)]
    await answer_log.append(lease, ["end {}"], is_end=True)
    ended = [await redis.ttl(key) for key in await keys_of(redis, question_id)]

    assert len(running) == len(ended) == 2
    assert all(0 < life <= 60 + LOG_LIFE for life in running)
    assert all(0 < life <= LOG_LIFE for life in ended)


async def test_an_answer_that_may_take_an_hour_keeps_its_log_that_long(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    lease = await answer_log.claim(question_id, "u", 3600)

    await answer_log.append(lease, ["sources {}"])

    assert all([await redis.ttl(key) > 3600 for key in await keys_of(redis, question_id)])


async def test_an_opened_question_expires_too(answer_log: AnswerLog, redis: Redis, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "hash")

    (key,) = await keys_of(redis, question_id)
    assert 0 < await redis.ttl(key) <= LOG_LIFE


def test_line_separators_are_escaped_and_read_back() -> None:
    text = "a\u2028b\u2029c\nd"

    entries = (encode_delta(text), encode_entry(EntryKind.DELTA, DeltaFrame(text=text)))

    for entry in entries:
        assert len(entry.splitlines()) == 1
        assert DeltaFrame.model_validate_json(split_entry(entry)[1]).text == text


@pytest.mark.parametrize("text", [" **2. Title", "", "日本語 😀 مرحبا", "\u202eabc", '"\\', "\x00", "delta {}"])
async def test_a_delta_comes_back_as_it_was(answer_log: AnswerLog, question_id: UUID, text: str) -> None:
    lease = await answer_log.claim(question_id, "u", 60)

    await answer_log.append(lease, [encode_delta(text)])
    (entry,) = await answer_log.read(question_id, 0)

    assert split_entry(entry)[0] is EntryKind.DELTA
    assert DeltaFrame.model_validate_json(split_entry(entry)[1]).text == text


async def test_without_redis_the_error_says_try_again(question_id: UUID) -> None:
    async with Redis.from_url("redis://127.0.0.1:1", retry_on_error=[], retry=None) as nowhere:
        log = AnswerLog(nowhere)

        with pytest.raises(TransientError) as failed:
            await log.claim(question_id, "u", 60)

    assert isinstance(failed.value.__cause__, RedisConnectionError)
