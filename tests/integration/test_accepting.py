"""Which questions a gateway accepts, joins or refuses, on a real bus and log with a store of the test's own."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis

from builders import knowledge_base
from citewire.contracts.events import QuestionAsked, now
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.requests import GetInteraction, InteractionReply
from citewire.contracts.sessions import Interaction, InteractionStatus, UserInput, new_session_id
from citewire.contracts.streams import KB_BUCKET, QUESTIONS
from citewire.runtime.admission import Admission, Limits
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal, TransientError, not_found
from citewire.runtime.provision import STREAMS, provision
from citewire.runtime.registry import watch
from gateway.accept import Accepting, Ask
from gateway.hub import Hub
from gateway.pressure import Pressure, Stage
from gateway.settings import Settings
from model_stage import FixedProviders, SayingClient
from stream_stage import telling_records
from waiting import until

ASKER = "web"
NO_LIMITS = Limits(per_minute=0, running=0)


class Store:
    """What is on record in a test."""

    def __init__(self) -> None:
        self.replies: dict[UUID, InteractionReply] = {}

    def keep(self, question_id: UUID, fingerprint: str, status: InteractionStatus = InteractionStatus.FINISHED) -> None:
        interaction = Interaction(
            question_id=question_id,
            session_id=new_session_id(question_id),
            status=status,
            user_input=UserInput(content="Why?", at=now()),
        )
        self.replies[question_id] = InteractionReply(interaction=interaction, fingerprint=fingerprint)

    async def get(self, request: GetInteraction) -> InteractionReply:
        if request.question_id not in self.replies:
            raise not_found("question")
        return self.replies[request.question_id]


@pytest.fixture
async def store(bus: Bus) -> AsyncGenerator[Store]:
    store = Store()
    async with telling_records(bus, store.get):
        yield store


@pytest.fixture
def user() -> User:
    """A user that no other test knows."""
    return User(user_id=f"user {uuid4()}")


@pytest.fixture
def draining() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def pressure(bus: Bus, redis: Redis, draining: asyncio.Event) -> Pressure:
    """Not sampling: a test says what waits."""
    return Pressure(bus.js, Hub(redis), draining, Settings(max_waiting=10))


@pytest.fixture
def one_question(redis: Redis, answer_log: AnswerLog) -> Admission:
    """Lets a user ask one question per minute, with one answer at a time."""
    return Admission(redis, answer_log, Limits(per_minute=1, burst=1, running=1))


@pytest.fixture
async def accepting(bus: Bus, redis: Redis, answer_log: AnswerLog, pressure: Pressure) -> AsyncGenerator[Accepting]:
    async with watch(bus, KB_BUCKET, KnowledgeBase) as kbs:
        admission = Admission(redis, answer_log, NO_LIMITS)
        yield Accepting(bus, answer_log, kbs, admission, pressure, FixedProviders(), ASKER)


async def published(bus: Bus) -> list[QuestionAsked]:
    """All questions on the stream."""
    messages = (await bus.js.stream_info(QUESTIONS)).state.messages
    if not messages:
        return []
    subscription = await bus.js.subscribe(f"{QuestionAsked.subject}.*", ordered_consumer=True)
    events = [QuestionAsked.model_validate_json((await subscription.next_msg(5)).data) for _ in range(messages)]
    await subscription.unsubscribe()
    return events


def ask(question: str = "Why?", **fields: Any) -> Ask:
    return Ask.model_validate({"question": question, "kb_ids": []} | fields)


async def status_of(accepting: Accepting, body: Ask, user: User, key: str | None = None) -> int:
    """The status of the refusal of a question."""
    with pytest.raises(Refusal) as raised:
        await accepting.accept(body, user, key)
    return raised.value.problem.status


# Accepting


async def test_an_accepted_question_is_published_and_its_log_is_open_until_the_same_deadline(
    accepting: Accepting, bus: Bus, answer_log: AnswerLog, user: User
) -> None:
    question_id = await accepting.accept(ask(stop_after_disconnect=30), user, None)

    (event,) = await published(bus)
    state = await answer_log.state(question_id)
    assert state is not None
    assert (event.question_id, event.user, event.fingerprint) == (question_id, user, state.fingerprint)
    assert abs(state.deadline - event.deadline) < timedelta(milliseconds=1)
    assert state.grace == 30


async def test_p4_the_question_is_published_without_control_characters(
    accepting: Accepting, bus: Bus, user: User
) -> None:
    await accepting.accept(ask("Why\u0000 not?"), user, None)

    (event,) = await published(bus)
    assert event.question == "Why not?"


@pytest.mark.parametrize("question", [" ", "\u0000", "\u0000 \n"])
async def test_a_question_of_nothing_is_422(accepting: Accepting, user: User, question: str) -> None:
    assert await status_of(accepting, ask(question), user) == 422


async def test_f05_a_question_that_the_answering_model_can_not_take_is_422_and_never_published(
    accepting: Accepting, bus: Bus, user: User
) -> None:
    small = replace(accepting, providers=FixedProviders(SayingClient(context_tokens=2048, max_output_tokens=256)))

    with pytest.raises(Refusal) as refused:
        await small.accept(ask("word " * 400), user, None)

    assert (refused.value.problem.status, refused.value.problem.errors[0].field) == (422, "question")
    assert await published(bus) == []


async def test_f05_a_question_that_just_fits_the_answering_model_is_accepted(
    accepting: Accepting, bus: Bus, user: User
) -> None:
    small = replace(accepting, providers=FixedProviders(SayingClient(context_tokens=2048, max_output_tokens=256)))

    await small.accept(ask("word " * 200), user, None)

    assert len(await published(bus)) == 1


async def test_without_a_key_the_same_question_runs_twice(accepting: Accepting, bus: Bus, user: User) -> None:
    for _ in range(2):
        await accepting.accept(ask(), user, None)

    assert len(await published(bus)) == 2


# The same key again


async def test_a12_the_same_key_joins_the_running_answer(
    accepting: Accepting, bus: Bus, store: Store, user: User
) -> None:
    first = await accepting.accept(ask(), user, "key")

    second = await accepting.accept(ask(), user, "key")

    assert first == second
    assert len(await published(bus)) == 1


async def test_ten_posts_with_one_key_at_once_are_one_question(
    accepting: Accepting, bus: Bus, store: Store, user: User
) -> None:
    ids = await asyncio.gather(*(accepting.accept(ask(), user, "key") for _ in range(10)))

    assert len(set(ids)) == 1
    assert len(await published(bus)) == 1


async def test_how_an_answer_is_read_does_not_make_it_another_question(
    accepting: Accepting, store: Store, user: User
) -> None:
    first = await accepting.accept(ask(), user, "key")

    second = await accepting.accept(ask(stream=False, stop_after_disconnect=5), user, "key")

    assert first == second


@pytest.mark.parametrize(
    "other",
    [{"question": "How?"}, {"kb_ids": None}, {"params": {"top_k": 3}}, {"session_id": str(UUID(int=1))}],
    ids=str,
)
async def test_a13_another_body_under_the_same_key_is_409(
    accepting: Accepting, store: Store, user: User, other: dict[str, Any]
) -> None:
    await accepting.accept(ask(), user, "key")

    assert await status_of(accepting, ask(**other), user, "key") == 409


async def test_a_key_belongs_to_its_user(accepting: Accepting, store: Store, user: User) -> None:
    first = await accepting.accept(ask(), user, "key")

    second = await accepting.accept(ask(), User(user_id=f"other {user.user_id}"), "key")

    assert first != second


async def test_the_same_key_replays_what_only_the_store_remembers(
    accepting: Accepting, bus: Bus, store: Store, answer_log: AnswerLog, user: User
) -> None:
    first = await accepting.accept(ask(), user, "key")
    (event,) = await published(bus)
    store.keep(first, event.fingerprint)
    await answer_log.forget(first)
    await bus.js.purge_stream(QUESTIONS)

    second = await accepting.accept(ask(), user, "key")

    assert second == first
    assert await published(bus) == []


async def test_another_body_than_the_one_on_record_is_409(
    accepting: Accepting, store: Store, answer_log: AnswerLog, user: User
) -> None:
    question_id = await accepting.accept(ask(), user, "key")
    store.keep(question_id, "another")
    await answer_log.forget(question_id)

    assert await status_of(accepting, ask(), user, "key") == 409


async def test_a_key_is_not_run_again_on_a_guess_while_the_store_is_away(
    accepting: Accepting, bus: Bus, user: User
) -> None:
    with pytest.raises(TransientError):
        await accepting.accept(ask(), user, "key")

    assert await published(bus) == []


async def test_a_question_whose_publication_was_lost_is_published_again(
    accepting: Accepting, bus: Bus, store: Store, answer_log: AnswerLog, user: User
) -> None:
    question_id = await accepting.accept(ask(), user, "key")
    (first,) = await published(bus)
    await forget_questions(bus)

    await accepting.accept(ask(), user, "key")

    (second,) = await published(bus)
    assert (second.question_id, second.fingerprint) == (question_id, first.fingerprint)
    assert abs(second.deadline - first.deadline) < timedelta(milliseconds=1)


async def test_a_question_that_somebody_answers_is_not_published_again(
    accepting: Accepting, bus: Bus, store: Store, answer_log: AnswerLog, user: User
) -> None:
    question_id = await accepting.accept(ask(), user, "key")
    await forget_questions(bus)
    await answer_log.claim(question_id, user.user_id, 60)

    await accepting.accept(ask(), user, "key")

    assert await published(bus) == []


async def test_a_question_that_has_ended_on_record_is_not_published_again(
    accepting: Accepting, bus: Bus, store: Store, user: User
) -> None:
    question_id = await accepting.accept(ask(), user, "key")
    (event,) = await published(bus)
    await forget_questions(bus)
    store.keep(question_id, event.fingerprint, InteractionStatus.FAILED)

    await accepting.accept(ask(), user, "key")

    assert await published(bus) == []


async def forget_questions(bus: Bus) -> None:
    """Make the stream forget all questions, and the ids by which it drops duplicates."""
    await bus.js.delete_stream(QUESTIONS)
    await provision(bus.js, max_replicas=1)


async def test_what_is_on_record_is_replayed_while_redis_is_away(
    accepting: Accepting, bus: Bus, store: Store, user: User
) -> None:
    question_id = await accepting.accept(ask(), user, "key")
    (event,) = await published(bus)
    store.keep(question_id, event.fingerprint)

    async with without_redis(accepting) as alone:
        assert await alone.accept(ask(), user, "key") == question_id


async def test_nothing_new_is_accepted_while_redis_is_away(
    accepting: Accepting, bus: Bus, store: Store, user: User
) -> None:
    async with without_redis(accepting) as alone:
        for key in ("key", None):
            with pytest.raises(TransientError):
                await alone.accept(ask(), user, key)

    assert await published(bus) == []


@contextlib.asynccontextmanager
async def without_redis(accepting: Accepting) -> AsyncGenerator[Accepting]:
    """The same gateway, whose Redis does not answer."""
    async with Redis.from_url("redis://127.0.0.1:1/0", decode_responses=True) as away:
        log = AnswerLog(away)
        yield replace(accepting, log=log, admission=Admission(away, log, Limits()))


# Limits


async def test_a13_a_retry_joins_where_a_new_question_is_429(
    accepting: Accepting, one_question: Admission, store: Store, user: User
) -> None:
    limited = replace(accepting, admission=one_question)
    first = await limited.accept(ask(), user, "key")

    assert await limited.accept(ask(), user, "key") == first
    assert await status_of(limited, ask("How?"), user, "key") == 409
    assert await status_of(limited, ask(), user, "another key") == 429


async def test_a_question_that_is_not_found_costs_nothing(
    accepting: Accepting, one_question: Admission, user: User
) -> None:
    limited = replace(accepting, admission=one_question)
    assert await status_of(limited, ask(kb_ids=["nowhere"]), user) == 404

    await limited.accept(ask(), user, None)


async def test_a_full_stream_refuses_with_503_and_leaves_no_trace(
    accepting: Accepting, bus: Bus, one_question: Admission, store: Store, user: User
) -> None:
    limited = replace(accepting, admission=one_question)
    async with full_questions(bus):
        assert await status_of(limited, ask(), user, "key") == 503

    question_id = await limited.accept(ask(), user, "key")

    assert [event.question_id for event in await published(bus)] == [question_id]


class Unheard(Bus):
    """A bus that publishes, and never hears that it did."""

    async def publish(self, event: Any) -> None:
        await super().publish(event)
        raise TransientError("no acknowledgement")


async def test_a_publication_of_unknown_outcome_is_503_and_its_retry_joins_it(
    accepting: Accepting, bus: Bus, one_question: Admission, store: Store, user: User
) -> None:
    unheard = replace(accepting, bus=Unheard(bus.client, bus.js), admission=one_question)
    with pytest.raises(TransientError):
        await unheard.accept(ask(), user, "key")

    question_id = await accepting.accept(ask(), user, "key")

    assert [event.question_id for event in await published(bus)] == [question_id]


async def test_a_publication_of_unknown_outcome_takes_no_place(
    accepting: Accepting, bus: Bus, one_question: Admission, user: User
) -> None:
    unheard = replace(accepting, bus=Unheard(bus.client, bus.js), admission=one_question)
    with pytest.raises(TransientError):
        await unheard.accept(ask(), user, None)

    await replace(accepting, admission=one_question).accept(ask(), user, None)


@contextlib.asynccontextmanager
async def full_questions(bus: Bus) -> AsyncGenerator[None]:
    """A question stream that takes nothing while the block lasts."""
    (config,) = (stream for stream in STREAMS if stream.name == QUESTIONS)
    await bus.js.update_stream(replace(config, max_msgs=1))
    await bus.js.publish(f"{QuestionAsked.subject}.filler", b"{}")
    yield
    await bus.js.purge_stream(QUESTIONS)
    await bus.js.update_stream(config)


# Pressure


Register = Callable[..., Awaitable[None]]


@pytest.fixture
async def register(accepting: Accepting) -> AsyncGenerator[Register]:
    """Makes a knowledge base known to the gateway, for one test."""
    bucket, registered = await accepting.bus.js.key_value(KB_BUCKET), []

    async def put(kb_id: str, **fields: str) -> None:
        registered.append(kb_id)
        await bucket.put(kb_id, knowledge_base(kb_id, **fields).model_dump_json().encode())
        await until(lambda: kb_id in accepting.kbs.entries)

    yield put
    for kb_id in registered:
        await bucket.purge(kb_id)


@pytest.mark.parametrize("durable", ["autoquery", "generator", "retriever"])
async def test_a_stage_with_too_much_waiting_refuses_with_503(
    accepting: Accepting, register: Register, pressure: Pressure, user: User, durable: str
) -> None:
    await register("kb")
    pressure.stages[durable] = Stage(depth=10)

    assert await status_of(accepting, ask(kb_ids=["kb"]), user) == 503
    assert await published(accepting.bus) == []


async def test_a_busy_pool_refuses_only_questions_to_its_own_knowledge_bases(
    accepting: Accepting, register: Register, pressure: Pressure, user: User
) -> None:
    await register("kb")
    await register("slow", pool="slow")
    pressure.stages["retriever-slow"] = Stage(depth=10)

    assert await status_of(accepting, ask(kb_ids=["kb", "slow"]), user) == 503
    await accepting.accept(ask(kb_ids=["kb"]), user, None)


async def test_a_gateway_that_is_stopping_accepts_nothing_new(
    accepting: Accepting, draining: asyncio.Event, store: Store, user: User
) -> None:
    first = await accepting.accept(ask(), user, "key")

    draining.set()

    assert await status_of(accepting, ask(), user) == 503
    assert await accepting.accept(ask(), user, "key") == first


async def test_j02_what_waits_in_the_real_stages_is_seen(
    bus: Bus, pressure: Pressure, accepting: Accepting, user: User
) -> None:
    for _ in range(10):
        await accepting.accept(ask(), user, None)

    async with pressure.sampling():
        await until(lambda: pressure.stages.get("autoquery", Stage()).depth == 10)

    assert await status_of(accepting, ask(), user) == 503
