"""The answer log on a real Redis: numbers, leases, stop, end, and what is left of it when Redis loses it."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from citewire.contracts.answers import DeltaFrame, EntryKind
from citewire.contracts.events import now
from citewire.runtime import answer_scripts
from citewire.runtime.answer_log import (
    LOG_LIFE,
    READ_LIMIT,
    AnswerLog,
    AnswerState,
    AppendOutcome,
    Lease,
    Opening,
    channel,
    encode_delta,
    encode_entry,
    new_token,
    split_entry,
    unclaimed,
)
from citewire.runtime.errors import TransientError

DEADLINE = now() + timedelta(seconds=60)


@pytest.fixture
def question_id() -> UUID:
    return uuid4()


async def keys_of(redis: Redis, question_id: UUID) -> list[str]:
    return sorted([str(key) async for key in redis.scan_iter(match=f"*{question_id}*")])


async def lose(redis: Redis, question_id: UUID) -> None:
    await redis.delete(*await keys_of(redis, question_id))


async def state_of(log: AnswerLog, question_id: UUID) -> AnswerState:
    state = await log.state(question_id)
    assert state is not None
    return state


# Numbers


async def test_entries_are_numbered_from_one_in_the_order_of_writing(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)

    first = await answer_log.append(lease, ["delta a"], 0)
    third = await answer_log.append(lease, ["delta b", "delta c"], 1)

    assert (first, third) == (1, 3)
    assert await answer_log.read(question_id, 0) == ["delta a", "delta b", "delta c"]


async def test_reading_after_a_number_brings_only_what_follows(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a", "delta b", "delta c"], 0)

    assert await answer_log.read(question_id, 2) == ["delta c"]
    assert await answer_log.read(question_id, 3) == []


async def test_a_reader_takes_at_most_its_limit(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, [f"delta {number}" for number in range(2 * READ_LIMIT)], 0)

    assert len(await answer_log.read(question_id, 0)) == READ_LIMIT
    assert await answer_log.read(question_id, 10, 2) == ["delta 10", "delta 11"]


async def test_very_many_entries_are_written_at_once(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    entries = [f"delta {number}" for number in range(20_001)]

    length = await answer_log.append(lease, entries, 0)

    assert length == len(entries)
    assert await answer_log.read(question_id, 0, len(entries)) == entries


@pytest.mark.parametrize("again", [["delta b", "delta c"], ["delta b", "delta c", "delta d"]])
async def test_an_append_whose_reply_was_lost_may_be_repeated(
    answer_log: AnswerLog, question_id: UUID, again: list[str]
) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a"], 0)
    await answer_log.append(lease, ["delta b", "delta c"], 1)

    length = await answer_log.append(lease, again, 1)

    assert length == 1 + len(again)
    assert await answer_log.read(question_id, 0) == ["delta a", *again]


async def test_an_end_whose_reply_was_lost_may_be_repeated_even_after_it_was_stored(
    answer_log: AnswerLog, question_id: UUID
) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a", "end {}"], 0, is_end=True)
    await answer_log.mark_stored(question_id, "finished")

    length = await answer_log.append(lease, ["delta a", "end {}"], 0, is_end=True)

    assert length == 2
    assert len(await answer_log.read(question_id, 0)) == 3


async def test_a_writer_that_knows_less_than_the_log_holds_is_refused(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a", "delta b", "delta c"], 0)

    assert await answer_log.append(lease, ["delta x"], 1) is AppendOutcome.FENCED
    assert len(await answer_log.read(question_id, 0)) == 3


# Wake-ups


async def news_of(redis: Redis, question_id: UUID, write: Callable[[], Awaitable[object]]) -> str:
    """What the readers are told of a write."""
    async with redis.pubsub(ignore_subscribe_messages=True) as pubsub:
        await pubsub.subscribe(channel(question_id))
        await pubsub.get_message(timeout=5)
        await write()
        message = await pubsub.get_message(timeout=5)
    assert message is not None
    return str(message["data"])


async def test_a_wake_up_carries_the_new_entries_and_the_first_ones_number(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["sources {}"], 0)

    news = await news_of(redis, question_id, lambda: answer_log.append(lease, ["delta a", "delta b"], 1))

    assert news == "2\ndelta a\ndelta b"


async def test_a_wake_up_for_large_entries_carries_only_the_number(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    entry = "delta " + "x" * answer_scripts.MAX_NEWS_BYTES

    assert await news_of(redis, question_id, lambda: answer_log.append(lease, [entry], 0)) == "1"


async def test_a_repeated_append_tells_only_what_is_new(answer_log: AnswerLog, redis: Redis, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a"], 0)

    news = await news_of(redis, question_id, lambda: answer_log.append(lease, ["delta a", "delta b"], 0))

    assert news == "2\ndelta b"


async def test_readers_are_told_that_an_answer_is_stored(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["end {}"], 0, is_end=True)

    news = await news_of(redis, question_id, lambda: answer_log.mark_stored(question_id, "finished"))

    assert news == '2\nstored {"status":"finished"}'


# Leases


async def test_an_old_lease_is_refused(answer_log: AnswerLog, question_id: UUID) -> None:
    old = await answer_log.claim(question_id, "u", 60)
    await answer_log.claim(question_id, "u", 60)

    outcome = await answer_log.append(old, ["delta late"], 0)

    assert outcome is AppendOutcome.FENCED
    assert await answer_log.read(question_id, 0) == []


async def test_an_old_lease_cannot_end_the_answer(answer_log: AnswerLog, question_id: UUID) -> None:
    old = await answer_log.claim(question_id, "u", 60)
    new = await answer_log.claim(question_id, "u", 60)

    outcome = await answer_log.append(old, ["end {}"], 0, is_end=True)

    assert outcome is AppendOutcome.FENCED
    assert await answer_log.append(new, ["delta a"], 0) == 1


async def test_a_stale_writer_is_refused_also_after_redis_was_emptied(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    stale = await answer_log.claim(question_id, "u", 60)
    await lose(redis, question_id)
    await answer_log.claim(question_id, "u", 60)

    appended = await answer_log.append(stale, ["delta late"], 0)
    restored = await answer_log.restore(stale, ["delta late"])

    assert (appended, restored) == (AppendOutcome.FENCED, False)
    assert await answer_log.read(question_id, 0) == []


async def test_a_claim_returns_what_is_written_and_noted(answer_log: AnswerLog, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "print", DEADLINE, grace=2.5)
    first = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(first, ["sources {}", "delta a"], 0)

    second = await answer_log.claim(question_id, "somebody else", 60)

    assert first.entries == ()
    assert second.entries == ("sources {}", "delta a")
    assert (second.user, second.fingerprint, second.grace) == ("u", "print", "2.5")
    assert second.deadline == DEADLINE.timestamp()


async def test_a_repeated_claim_keeps_its_token(answer_log: AnswerLog, question_id: UUID) -> None:
    token = new_token()
    first = await answer_log.claim(question_id, "u", 60, token)

    await answer_log.claim(question_id, "u", 60, token)

    assert await answer_log.append(first, ["delta a"], 0) == 1


async def test_two_writers_never_interleave(answer_log: AnswerLog, question_id: UUID) -> None:
    async def write(name: str) -> None:
        lease = await answer_log.claim(question_id, "u", 60)
        written = len(lease.entries)
        for number in range(20):
            if await answer_log.append(lease, [f"delta {name}{number}"], written + number) is AppendOutcome.FENCED:
                return

    await asyncio.gather(write("a"), write("b"))

    writers = [entry[len("delta ")] for entry in await answer_log.read(question_id, 0)]
    assert len(list(itertools.groupby(writers))) <= 2
    assert len(writers) >= 20


# Stop and end


async def test_a_stop_refuses_text_and_lets_the_end_through(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    is_known = await answer_log.request_stop(question_id)

    text = await answer_log.append(lease, ["delta a"], 0)
    end = await answer_log.append(lease, ["end {}"], 0, is_end=True)

    assert is_known
    assert (text, end) == (AppendOutcome.STOPPED, 1)


async def test_b07_a_stop_before_the_first_writer_is_seen_by_it(answer_log: AnswerLog, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "print", DEADLINE)
    await answer_log.request_stop(question_id)

    lease = await answer_log.claim(question_id, "u", 60)

    assert lease.is_stopped


async def test_a_stop_of_an_unknown_answer_leaves_nothing_behind(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    assert not await answer_log.request_stop(question_id)
    assert await keys_of(redis, question_id) == []


async def test_nothing_follows_the_end(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["end {}"], 0, is_end=True)

    text = await answer_log.append(lease, ["delta late"], 1)
    end = await answer_log.append(lease, ["end {}"], 1, is_end=True)

    assert (text, end) == (AppendOutcome.ENDED, AppendOutcome.ENDED)
    assert await answer_log.read(question_id, 0) == ["end {}"]


async def test_a_full_log_takes_only_the_end(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    half = "delta " + "x" * (answer_scripts.MAX_LOG_BYTES // 2)
    await answer_log.append(lease, [half], 0)

    text = await answer_log.append(lease, [half], 1)
    end = await answer_log.append(lease, ["delta y", "end {}"], 1, is_end=True)

    assert (text, end) == (AppendOutcome.FULL, 3)


async def test_stored_is_marked_after_the_end_and_once(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["end {}"], 0, is_end=True)

    await answer_log.mark_stored(question_id, "finished")
    await answer_log.mark_stored(question_id, "failed")

    assert await answer_log.read(question_id, 0) == ["end {}", 'stored {"status":"finished"}']


async def test_stored_is_not_marked_before_the_end(answer_log: AnswerLog, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a"], 0)

    await answer_log.mark_stored(question_id, "finished")

    assert await answer_log.read(question_id, 0) == ["delta a"]


# What Redis loses


async def test_a_lost_log_takes_nothing(answer_log: AnswerLog, redis: Redis, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["sources {}", "delta a"], 0)
    await lose(redis, question_id)

    outcome = await answer_log.append(lease, ["delta b"], 2)

    assert outcome is AppendOutcome.LOST
    assert await keys_of(redis, question_id) == []


async def test_a_log_restored_goes_on_as_if_nothing_had_happened(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    await answer_log.open(question_id, "u", "print", DEADLINE, grace=5)
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["sources {}", "delta a"], 0)
    before = await answer_log.state(question_id)
    await lose(redis, question_id)

    is_restored = await answer_log.restore(lease, ["sources {}", "delta a"])

    assert is_restored
    assert await answer_log.state(question_id) == before
    assert await answer_log.append(lease, ["delta b"], 2) == 3
    assert await answer_log.read(question_id, 0) == ["sources {}", "delta a", "delta b"]
    assert all([await redis.ttl(key) > 0 for key in await keys_of(redis, question_id)])
    opening = await answer_log.open(question_id, "u", "print", DEADLINE)
    assert opening == Opening(is_new=False, user="u", fingerprint="print", is_claimed=True)


@pytest.mark.parametrize("kept", [0, 1])
async def test_a_log_that_lost_its_last_entries_is_restored(
    answer_log: AnswerLog, redis: Redis, question_id: UUID, kept: int
) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["sources {}", "delta a", "delta b"], 0)
    await redis.ltrim(next(key for key in await keys_of(redis, question_id) if key.endswith(":log")), 3 - kept, 2)

    outcome = await answer_log.append(lease, ["delta c"], 3)
    await answer_log.restore(lease, ["sources {}", "delta a", "delta b"])

    assert outcome is AppendOutcome.LOST
    assert await answer_log.append(lease, ["delta c"], 3) == 4


async def test_a_restored_log_keeps_a_stop_from_before_and_one_from_after_the_loss(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    await answer_log.open(question_id, "u", "print", DEADLINE)
    await answer_log.request_stop(question_id)
    stopped = await answer_log.claim(question_id, "u", 60)
    await lose(redis, question_id)
    await answer_log.restore(stopped, ["sources {}"])
    is_kept = (await state_of(answer_log, question_id)).is_stopped

    other = uuid4()
    await answer_log.open(other, "u", "print", DEADLINE)
    await answer_log.request_stop(other)
    await answer_log.restore(unclaimed(other, "u", DEADLINE, new_token()), ["sources {}"])

    assert is_kept
    assert (await state_of(answer_log, other)).is_stopped


async def test_a_writer_that_never_reached_redis_writes_the_log_once_it_does(
    answer_log: AnswerLog, question_id: UUID
) -> None:
    lease: Lease = unclaimed(question_id, "u", DEADLINE, new_token())

    first = await answer_log.append(lease, ["sources {}"], 0)
    is_restored = await answer_log.restore(lease, [])
    second = await answer_log.append(lease, ["sources {}"], 0)

    assert (first, is_restored, second) == (AppendOutcome.LOST, True, 1)


async def test_readers_are_told_to_read_a_restored_log(answer_log: AnswerLog, redis: Redis, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await lose(redis, question_id)

    assert await news_of(redis, question_id, lambda: answer_log.restore(lease, ["sources {}", "delta a"])) == "1"


# Opening


async def test_opening_twice_notes_only_the_first(answer_log: AnswerLog, question_id: UUID) -> None:
    first = await answer_log.open(question_id, "u", "print", DEADLINE)
    second = await answer_log.open(question_id, "other", "other print", DEADLINE)

    assert first == Opening(is_new=True, user="u", fingerprint="print", is_claimed=False)
    assert second == Opening(is_new=False, user="u", fingerprint="print", is_claimed=False)


async def test_an_opening_says_whether_somebody_answers(answer_log: AnswerLog, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "print", DEADLINE)
    await answer_log.claim(question_id, "u", 60)

    opening = await answer_log.open(question_id, "u", "print", DEADLINE)

    assert opening == Opening(is_new=False, user="u", fingerprint="print", is_claimed=True)


async def test_an_answer_that_nobody_opened_takes_the_first_fingerprint(
    answer_log: AnswerLog, question_id: UUID
) -> None:
    await answer_log.claim(question_id, "u", 60)

    first = await answer_log.open(question_id, "u", "print", DEADLINE)
    second = await answer_log.open(question_id, "u", "other print", DEADLINE)

    assert first == second == Opening(is_new=False, user="u", fingerprint="print", is_claimed=True)


async def test_an_opening_taken_back_can_be_made_again(answer_log: AnswerLog, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "print", DEADLINE)
    await answer_log.forget(question_id)

    assert await answer_log.state(question_id) is None
    assert (await answer_log.open(question_id, "u", "print", DEADLINE)).is_new


async def test_an_opening_that_is_worked_on_is_not_taken_back(answer_log: AnswerLog, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "print", DEADLINE)
    lease = await answer_log.claim(question_id, "u", 60)

    await answer_log.forget(question_id)

    assert await answer_log.append(lease, ["sources {}"], 0) == 1


async def test_the_state_tells_owner_writer_stop_end_deadline_and_grace(
    answer_log: AnswerLog, question_id: UUID
) -> None:
    await answer_log.open(question_id, "u", "print", DEADLINE, grace=10)
    opened = await answer_log.state(question_id)
    lease = await answer_log.claim(question_id, "u", 60)
    running = await answer_log.state(question_id)
    await answer_log.request_stop(question_id)
    await answer_log.append(lease, ["end {}"], 0, is_end=True)

    ended = await answer_log.state(question_id)

    assert opened == state(is_claimed=False)
    assert running == state()
    assert ended == state(is_stopped=True, is_ended=True)


def state(*, is_stopped: bool = False, is_ended: bool = False, is_claimed: bool = True) -> AnswerState:
    deadline = datetime.fromtimestamp(DEADLINE.timestamp(), DEADLINE.tzinfo)
    return AnswerState("u", is_stopped, is_ended, is_claimed, deadline, grace=10, fingerprint="print")


async def test_the_first_owner_stays_the_owner(answer_log: AnswerLog, question_id: UUID) -> None:
    await answer_log.open(question_id, "u", "print", DEADLINE)
    await answer_log.claim(question_id, "somebody else", 60)

    assert (await state_of(answer_log, question_id)).user == "u"


# Life


async def test_every_key_expires(answer_log: AnswerLog, redis: Redis, question_id: UUID) -> None:
    lease = await answer_log.claim(question_id, "u", 60)
    await answer_log.append(lease, ["delta a"], 0)
    running = [await redis.ttl(key) for key in await keys_of(redis, question_id)]
    await answer_log.append(lease, ["end {}"], 1, is_end=True)
    ended = [await redis.ttl(key) for key in await keys_of(redis, question_id)]

    assert len(running) == len(ended) == 2
    assert all(0 < life <= 60 + LOG_LIFE for life in running)
    assert all(0 < life <= LOG_LIFE for life in ended)


async def test_an_answer_that_may_take_an_hour_keeps_its_log_that_long(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    lease = await answer_log.claim(question_id, "u", 3600)

    await answer_log.append(lease, ["sources {}"], 0)

    assert all([await redis.ttl(key) > 3600 for key in await keys_of(redis, question_id)])


async def test_an_opened_question_is_known_until_its_deadline_and_expires(
    answer_log: AnswerLog, redis: Redis, question_id: UUID
) -> None:
    await answer_log.open(question_id, "u", "print", now() + timedelta(hours=1))

    (key,) = await keys_of(redis, question_id)
    assert 3600 < await redis.ttl(key) <= 3600 + LOG_LIFE


# Entries


def test_line_separators_are_escaped_and_read_back() -> None:
    text = "a\u2028b\u2029c\nd"

    entries = (encode_delta(text), encode_entry(EntryKind.DELTA, DeltaFrame(text=text)))

    for entry in entries:
        assert len(entry.splitlines()) == 1
        assert DeltaFrame.model_validate_json(split_entry(entry)[1]).text == text


@pytest.mark.parametrize("text", [" **2. Title", "", "日本語 😀 مرحبا", "\u202eabc", '"\\', "\x00", "delta {}"])
async def test_a_delta_comes_back_as_it_was(answer_log: AnswerLog, question_id: UUID, text: str) -> None:
    lease = await answer_log.claim(question_id, "u", 60)

    await answer_log.append(lease, [encode_delta(text)], 0)
    (entry,) = await answer_log.read(question_id, 0)

    assert split_entry(entry)[0] is EntryKind.DELTA
    assert DeltaFrame.model_validate_json(split_entry(entry)[1]).text == text


async def test_without_redis_the_error_says_try_again(question_id: UUID) -> None:
    async with Redis.from_url("redis://127.0.0.1:1", retry_on_error=[], retry=None) as nowhere:
        log = AnswerLog(nowhere)

        with pytest.raises(TransientError) as failed:
            await log.claim(question_id, "u", 60)

    assert isinstance(failed.value.__cause__, RedisConnectionError)
