"""The planner on a real bus, log and admission: what its consumer makes of what other services publish."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from redis.asyncio import Redis

from autoquery.handlers import Planner
from autoquery.settings import Settings
from autoquery.standing import Standings
from autoquery.stops import Stops
from builders import knowledge_base
from citewire.contracts.answers import DoneFrame, EntryKind
from citewire.contracts.events import QuestionAsked, QuestionRejected, RetrievalPlanned, now
from citewire.contracts.requests import GetInteraction, ReplayOutcome
from citewire.contracts.sessions import InteractionStatus, new_session_id
from citewire.contracts.streams import DEAD_LETTER_SUBJECT, DEAD_LETTERS, PLANS
from citewire.runtime.admission import Admission, Limits
from citewire.runtime.answer_log import AnswerLog, encode_entry
from citewire.runtime.bus import Bus
from citewire.runtime.delivery import Consumer, deliver
from citewire.runtime.provision import PLANNER
from citewire.runtime.pull import PullConsumer
from citewire.runtime.service import Responder, respond
from model_stage import FixedProviders
from planner_stage import KnownKbs, on_record
from waiting import until_found

SHOP = "service:shop"


@dataclass
class Record:
    """An owner of the record: it knows the one question that ended, and keeps which are to be told again."""

    bus: Bus
    ended: QuestionAsked | None = None
    replayed: int = 0

    async def get(self, _: GetInteraction) -> Any:
        assert self.ended is not None
        return on_record(self.ended, InteractionStatus.FINISHED)

    @contextlib.asynccontextmanager
    async def answering(self) -> AsyncGenerator[None]:
        async def answer(message: Msg) -> None:
            await message.respond(await respond(Responder(GetInteraction, self.get), message))

        async def replay(message: Msg) -> None:
            self.replayed += 1
            await message.respond(b"{}")

        subscriptions = [
            await self.bus.client.subscribe(GetInteraction.subject, cb=answer),
            await self.bus.client.subscribe(ReplayOutcome.subject, cb=replay),
        ]
        yield
        for subscription in subscriptions:
            await subscription.unsubscribe()


@dataclass
class Stage:
    """A running planner, seen from another service."""

    bus: Bus
    log: AnswerLog
    rejections: Subscription

    async def ask(self, question_id: UUID, question: str = "Why?", **fields: Any) -> None:
        """Publish without a message id: beyond the window, or by a program that sets none."""
        event = {
            "question_id": str(question_id),
            "deadline": (now() + timedelta(seconds=30)).isoformat(),
            "asker": "shop",
            "user": {"user_id": "robot"},
            "question": question,
            "kb_ids": ["handbook"],
        }
        await self.send(json.dumps(event | fields).encode())

    async def send(self, data: bytes) -> None:
        await self.bus.js.publish("qa.v1.question.asked.shop", data, timeout=5)

    async def plans(self) -> list[RetrievalPlanned]:
        """Every plan there is, once all questions are dealt with."""
        await until_found(self.is_idle)
        state = (await self.bus.js.stream_info(PLANS)).state
        messages = [await self.bus.js.get_msg(PLANS, number) for number in range(state.first_seq, state.last_seq + 1)]
        return [RetrievalPlanned.model_validate_json(message.data or b"") for message in messages]

    async def rejection(self) -> QuestionRejected:
        message = await self.rejections.next_msg(timeout=10)
        return QuestionRejected.model_validate_json(message.data)

    async def end(self, question_id: UUID) -> None:
        """Answer a question as a generator does."""
        lease = await self.log.claim(question_id, SHOP, 30)
        session_id = new_session_id(question_id)
        done = DoneFrame(session_id=session_id, question_id=question_id, status=InteractionStatus.FINISHED)
        await self.log.append(lease, [encode_entry(EntryKind.END, done)], 0, is_end=True)

    async def is_idle(self) -> bool:
        """Whether all questions are dealt with."""
        info = await self.bus.js.consumer_info(PLANNER.stream, PLANNER.durable)
        return not (info.num_pending or info.num_ack_pending)


@pytest.fixture
def limits() -> Limits:
    return Limits(0, 0, 0)


@pytest.fixture
async def stage(bus: Bus, redis: Redis, answer_log: AnswerLog, limits: Limits) -> AsyncGenerator[Stage]:
    admission = Admission(redis, answer_log, limits)
    kbs = KnownKbs(knowledge_base("handbook"))
    standings, stops = Standings(bus, answer_log), Stops(answer_log, ("web",))
    planner = Planner(bus, kbs, standings, stops, admission, FixedProviders(), Settings(), ("web",))
    consumer = Consumer(PLANNER, QuestionAsked, planner.plan_retrieval, planner.give_up, planner.refuse)
    pulling = PullConsumer(bus, PLANNER, lambda message: deliver(bus, consumer, message))
    rejections = await bus.client.subscribe("qa.v1.question.rejected.shop")
    await pulling.start()
    yield Stage(bus, answer_log, rejections)
    await pulling.stop(5)


async def test_b06_the_same_question_again_is_the_same_run(stage: Stage) -> None:
    question_id = uuid4()

    await stage.ask(question_id)
    (first,) = await stage.plans()
    await stage.log.claim(question_id, SHOP, 30)
    await stage.ask(question_id)

    assert await stage.plans() == [first]


async def test_b06_the_same_id_for_another_question_is_a_conflict_and_leaves_the_first_alone(stage: Stage) -> None:
    question_id = uuid4()

    await stage.ask(question_id)
    await stage.ask(question_id, "Something else?")
    rejection = await stage.rejection()

    assert (rejection.question_id, rejection.problem.status) == (question_id, 409)
    assert [plan.question for plan in await stage.plans()] == ["Why?"]
    state = await stage.log.state(question_id)
    assert state is not None
    assert not state.is_ended


async def test_b06_a_question_that_ended_is_told_again(stage: Stage, bus: Bus) -> None:
    question_id = uuid4()
    record = Record(bus)

    await stage.ask(question_id)
    (plan,) = await stage.plans()
    await stage.end(question_id)
    record.ended = QuestionAsked.model_validate(
        plan.model_dump(include={"question_id", "deadline", "asker", "question"})
        | {"user": {"user_id": "robot"}, "kb_ids": ["handbook"]}
    )
    async with record.answering():
        await stage.ask(question_id)
        plans = await stage.plans()

    assert plans == [plan]
    assert record.replayed == 1


async def test_a_stop_before_the_plan_leaves_nothing_to_search(stage: Stage) -> None:
    question_id = uuid4()
    event = QuestionAsked.model_validate(
        {
            "question_id": question_id,
            "deadline": now() + timedelta(seconds=30),
            "asker": "shop",
            "user": {"user_id": "robot"},
            "question": "Why?",
            "kb_ids": ["handbook"],
        }
    )
    await stage.log.open(question_id, SHOP, event.fingerprint, event.deadline)
    await stage.log.request_stop(question_id)

    await stage.send(event.model_dump_json().encode())
    (plan,) = await stage.plans()

    assert (plan.kb_ids, plan.queries) == ((), ())
    assert (await stage.log.claim(question_id, SHOP, 30)).is_stopped


@pytest.mark.parametrize("limits", [Limits(per_minute=1, burst=1, running=0)])
async def test_a_service_over_its_rate_is_told_when_to_come_back(stage: Stage, redis: Redis) -> None:
    await redis.delete(*[key async for key in redis.scan_iter("admission:*")] or ["none"])

    await stage.ask(uuid4())
    await stage.ask(uuid4())
    rejection = await stage.rejection()

    assert rejection.problem.status == 429
    assert rejection.retry_after is not None
    assert 0 < rejection.retry_after <= 60


async def test_b06_a_message_without_a_user_is_rejected_with_the_field_and_set_aside(stage: Stage) -> None:
    question_id = uuid4()

    await stage.send(json.dumps({"question_id": str(question_id), "question": "Why?"}).encode())
    rejection = await stage.rejection()
    await until_found(stage.is_idle)

    assert rejection.question_id == question_id
    assert "user" in {error.field for error in rejection.problem.errors}
    letter = await stage.bus.js.get_last_msg(DEAD_LETTERS, f"{DEAD_LETTER_SUBJECT}.{PLANNER.stream}.{PLANNER.durable}")
    assert str(question_id).encode() in (letter.data or b"")


async def test_b03_bad_json_is_rejected_once_and_the_next_question_is_planned(stage: Stage) -> None:
    await stage.send(b"{bad json")
    await stage.ask(uuid4())
    rejection = await stage.rejection()

    assert rejection.problem.status == 422
    assert len(await stage.plans()) == 1


async def test_j05_two_hundred_questions_leave_neither_subscriptions_nor_tasks_behind(stage: Stage) -> None:
    await stage.ask(uuid4())
    await until_found(stage.is_idle)
    subscriptions, tasks = len(stage.bus.client._subs), len(asyncio.all_tasks())

    for _ in range(200):
        await stage.ask(uuid4())
    plans = await stage.plans()

    assert len(plans) == 201
    assert len(stage.bus.client._subs) == subscriptions
    assert len(asyncio.all_tasks()) <= tasks
