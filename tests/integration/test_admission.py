"""What one user may ask, counted in a real Redis."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis

from citewire.contracts.answers import DoneFrame, EntryKind
from citewire.contracts.events import now
from citewire.contracts.sessions import InteractionStatus, new_session_id
from citewire.runtime.admission import Admission, Limits
from citewire.runtime.answer_log import AnswerLog, encode_entry
from citewire.runtime.errors import Refusal, TransientError
from waiting import until_found

NO_RATE = 0


@pytest.fixture
def user() -> str:
    """A user that no other test knows."""
    return f"user {uuid4()}"


class Door:
    """Admission with limits of a test's own, for one user at a time."""

    def __init__(self, redis: Redis, log: AnswerLog, *, per_minute: int = 0, burst: int = 1, running: int = 0) -> None:
        self._admission = Admission(redis, log, Limits(per_minute, burst, running))
        self._log = log

    async def ask(self, user: str, question_id: UUID | None = None, seconds: float = 60) -> UUID:
        """Admit and open a question."""
        question_id, deadline = question_id or uuid4(), now() + timedelta(seconds=seconds)
        await self._admission.admit(user, question_id, deadline)
        await self._log.open(question_id, user, "fingerprint", deadline)
        return question_id

    async def refusal(self, user: str) -> Refusal:
        """Why the next question is not admitted."""
        with pytest.raises(Refusal) as raised:
            await self.ask(user)
        return raised.value

    async def release(self, user: str, question_id: UUID) -> None:
        await self._admission.release(user, question_id)

    async def end(self, user: str, question_id: UUID) -> None:
        """Write the answer's end, as a generator does."""
        lease = await self._log.claim(question_id, user, 60)
        done = DoneFrame(
            session_id=new_session_id(question_id), question_id=question_id, status=InteractionStatus.FINISHED
        )
        await self._log.append(lease, [encode_entry(EntryKind.END, done)], len(lease.entries), is_end=True)


async def test_a_burst_is_admitted_and_the_next_question_is_429(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, per_minute=60, burst=3)
    for _ in range(3):
        await door.ask(user)

    refusal = await door.refusal(user)

    assert (refusal.problem.status, refusal.problem.retry_after) == (429, 1)


async def test_the_wait_until_the_next_question_follows_from_the_rate(
    redis: Redis, answer_log: AnswerLog, user: str
) -> None:
    door = Door(redis, answer_log, per_minute=2, burst=1)
    await door.ask(user)

    refusal = await door.refusal(user)

    assert refusal.problem.retry_after == 30


async def test_after_the_wait_the_next_question_is_admitted(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, per_minute=600, burst=1)
    await door.ask(user)

    async def is_admitted() -> bool:
        try:
            await door.ask(user)
        except Refusal:
            return False
        return True

    await until_found(is_admitted, seconds=2)


async def test_a_refused_question_does_not_lengthen_the_wait(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, per_minute=2, burst=1)
    await door.ask(user)
    for _ in range(5):
        await door.refusal(user)

    refusal = await door.refusal(user)

    assert refusal.problem.retry_after == 30


async def test_j01_the_same_question_again_is_counted_once(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, per_minute=1, burst=2, running=2)
    first = await door.ask(user)
    await door.ask(user, first)

    second = await door.ask(user)

    assert second != first
    assert (await door.refusal(user)).problem.status == 429


async def test_of_many_questions_at_once_as_many_are_admitted_as_may_run(
    redis: Redis, answer_log: AnswerLog, user: str
) -> None:
    door = Door(redis, answer_log, running=4)

    outcomes = await asyncio.gather(*(door.ask(user) for _ in range(50)), return_exceptions=True)

    assert sum(isinstance(outcome, UUID) for outcome in outcomes) == 4
    assert sum(isinstance(outcome, Refusal) for outcome in outcomes) == 46


async def test_an_answer_that_has_ended_makes_room(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, running=2)
    first = await door.ask(user)
    await door.ask(user)
    await door.refusal(user)

    await door.end(user, first)

    await door.ask(user)
    await door.refusal(user)


async def test_an_answer_whose_deadline_has_passed_makes_room(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, running=1)

    await door.ask(user, seconds=-1)

    await door.ask(user)


async def test_a_question_that_was_not_accepted_gives_its_place_and_its_token_back(
    redis: Redis, answer_log: AnswerLog, user: str
) -> None:
    door = Door(redis, answer_log, per_minute=1, burst=1, running=1)
    question_id = await door.ask(user)

    await door.release(user, question_id)

    await door.ask(user)
    await door.refusal(user)


async def test_releasing_twice_gives_back_one_token(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, per_minute=1, burst=2)
    question_id = await door.ask(user)
    await door.ask(user)

    for _ in range(2):
        await door.release(user, question_id)

    await door.ask(user)
    await door.refusal(user)


async def test_j03_the_limit_of_one_user_is_not_anothers(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, per_minute=1, burst=1, running=1)
    await door.ask(user)
    await door.refusal(user)

    await door.ask(f"another {user}")


async def test_without_limits_nothing_is_counted(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, per_minute=NO_RATE, running=0)

    for _ in range(30):
        await door.ask(user)

    assert [key async for key in redis.scan_iter(match=f"admission:*{user}*")] == []


async def test_what_is_kept_of_a_user_expires(redis: Redis, answer_log: AnswerLog, user: str) -> None:
    door = Door(redis, answer_log, per_minute=60, running=2)
    await door.ask(user, seconds=30)

    keys = [key async for key in redis.scan_iter(match=f"admission:*{user}*")]

    assert len(keys) == 2
    assert all([0 < await redis.ttl(key) <= 30 for key in keys])


@pytest.mark.parametrize("name", ["", "{a}}{", "a\nb", "字 🙂", "x" * 1000])
async def test_any_name_can_be_counted(redis: Redis, answer_log: AnswerLog, name: str) -> None:
    door, user = Door(redis, answer_log, running=1), f"{name}{uuid4()}"
    await door.ask(user)

    await door.refusal(user)


async def test_a_redis_that_is_away_is_a_transient_error(answer_log: AnswerLog) -> None:
    async with Redis.from_url("redis://127.0.0.1:1/0", decode_responses=True) as away:
        admission = Admission(away, answer_log, Limits())

        with pytest.raises(TransientError):
            await admission.admit("u", uuid4(), now())
