"""Publishing once whatever happens, and asking the owners of data, on a real server."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from nats.aio.msg import Msg

from builders import planned
from citewire.contracts.events import QuestionAsked, now
from citewire.contracts.identity import User
from citewire.contracts.problems import Problem
from citewire.contracts.requests import Done, GetInteraction, Refused, RemoveKnowledgeBase
from citewire.contracts.streams import PLANS, QUESTIONS
from citewire.runtime import bus as runtime_bus
from citewire.runtime.bus import PUBLISH_TRIES, Bus, seconds_left
from citewire.runtime.errors import PermanentError, Refusal, TransientError, not_found
from citewire.runtime.service import Responder, fitting, respond


class LosesAcks:
    """A connection whose messages arrive, and whose first publications bring no acknowledgement back."""

    def __init__(self, bus: Bus, monkeypatch: pytest.MonkeyPatch, losses: int) -> None:
        self._publish = bus.client.publish
        self._losses = losses
        self.published = 0
        monkeypatch.setattr(runtime_bus, "PUBLISH_TIMEOUT", 0.2)
        monkeypatch.setattr(bus.client, "publish", self.publish)

    async def publish(self, subject: str, payload: bytes, reply: str, headers: dict[str, str]) -> None:
        self.published += 1
        await self._publish(subject, payload, "" if self.published <= self._losses else reply, headers)


def asked(asker: str = "test") -> QuestionAsked:
    return QuestionAsked(
        question_id=uuid4(),
        deadline=now() + timedelta(minutes=1),
        asker=asker,
        user=User(user_id="u"),
        question="Why?",
    )


async def stored(bus: Bus, stream: str) -> int:
    return (await bus.js.stream_info(stream)).state.messages


async def test_an_event_published_twice_is_stored_once(bus: Bus) -> None:
    event = planned("Why?", "kb")

    await bus.publish(event)
    await bus.publish(event)

    assert await stored(bus, PLANS) == 1


async def test_a_publication_of_unknown_outcome_is_tried_again_and_stored_once(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as lossy:
        connection = LosesAcks(bus, lossy, losses=1)

        await bus.publish(planned("Why?", "kb"))

    assert connection.published == 2
    assert await stored(bus, PLANS) == 1


async def test_a_publication_that_is_never_acknowledged_fails_for_now(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as lossy:
        connection = LosesAcks(bus, lossy, losses=PUBLISH_TRIES)

        with pytest.raises(TransientError):
            await bus.publish(planned("Why?", "kb"))

    assert connection.published == PUBLISH_TRIES
    assert await stored(bus, PLANS) == 1


async def test_a_full_stream_refuses_with_503_and_when_to_come_back(bus: Bus) -> None:
    config = (await bus.js.stream_info(QUESTIONS)).config
    await bus.js.update_stream(config.evolve(max_msgs=1))
    await bus.publish(asked())

    with pytest.raises(Refusal) as refused:
        await bus.publish(asked())

    await bus.js.update_stream(config)
    assert refused.value.problem.status == 503
    assert refused.value.problem.retry_after is not None
    assert await stored(bus, QUESTIONS) == 1


async def test_a_subject_without_a_stream_fails_for_now(bus: Bus) -> None:
    with pytest.raises(TransientError):
        await bus.publish_raw("test.no.stream", b"", "id")


async def test_an_asked_owner_replies(bus: Bus) -> None:
    async def remove(request: RemoveKnowledgeBase) -> Done:
        assert request.kb_id == "kb"
        return Done()

    async def answer(message: Msg) -> None:
        await message.respond(await respond(Responder(RemoveKnowledgeBase, remove), message))

    owner = await bus.client.subscribe(RemoveKnowledgeBase.subject, cb=answer)
    reply = await bus.ask(RemoveKnowledgeBase(user=User(user_id="u"), kb_id="kb"))
    await owner.unsubscribe()

    assert reply == Done()


@pytest.mark.parametrize(
    ("error", "status"), [(not_found("thing"), 404), (TransientError("away"), 503), (ZeroDivisionError(), 500)]
)
async def test_what_an_owner_raises_reaches_the_asker_as_a_problem(bus: Bus, error: Exception, status: int) -> None:
    async def fail(_: RemoveKnowledgeBase) -> Done:
        raise error

    async def answer(message: Msg) -> None:
        await message.respond(await respond(Responder(RemoveKnowledgeBase, fail), message))

    owner = await bus.client.subscribe(RemoveKnowledgeBase.subject, cb=answer)
    with pytest.raises(Refusal) as refused:
        await bus.ask(RemoveKnowledgeBase(user=User(user_id="u"), kb_id="kb"))
    await owner.unsubscribe()

    assert refused.value.problem.status == status


async def test_a_refusal_passes_through_as_the_owner_wrote_it(bus: Bus) -> None:
    problem = Problem(type="conflict", title="Conflict", status=409, detail="There is one already.", retry_after=3)

    async def refuse(message: Msg) -> None:
        await message.respond(Refused(problem=problem).model_dump_json().encode())

    owner = await bus.client.subscribe(RemoveKnowledgeBase.subject, cb=refuse)
    with pytest.raises(Refusal) as refused:
        await bus.ask(RemoveKnowledgeBase(user=User(user_id="u"), kb_id="kb"))
    await owner.unsubscribe()

    assert refused.value.problem == problem


async def test_an_unreadable_request_is_refused_with_422(bus: Bus) -> None:
    async def remove(_: RemoveKnowledgeBase) -> Done:
        return Done()

    message = Msg(bus.client, subject=RemoveKnowledgeBase.subject, data=b"{bad json")

    reply = await respond(Responder(RemoveKnowledgeBase, remove), message)

    assert Refused.model_validate_json(reply).problem.status == 422


def test_a_reply_that_is_no_larger_than_a_message_is_left_alone() -> None:
    assert fitting(b"x" * 100, limit=100) == b"x" * 100


def test_a_reply_larger_than_a_message_becomes_a_problem() -> None:
    reply = fitting(b"x" * 101, limit=100)

    assert Refused.model_validate_json(reply).problem.status == 413


async def test_an_event_larger_than_a_message_can_never_be_published(bus: Bus) -> None:
    with pytest.raises(PermanentError):
        await bus.publish(planned("Why?" * bus.max_payload))


async def test_a_request_larger_than_a_message_is_413(bus: Bus) -> None:
    with pytest.raises(Refusal) as refusal:
        await bus.ask(GetInteraction(question_id=uuid4(), user_id="u" * bus.max_payload))

    assert refusal.value.problem.status == 413


async def test_asking_when_nobody_answers_fails_for_now(bus: Bus) -> None:
    with pytest.raises(TransientError):
        await bus.ask(GetInteraction(question_id=uuid4(), user_id="u"))


async def test_asking_one_who_stays_silent_fails_for_now(bus: Bus) -> None:
    silent = await bus.client.subscribe(GetInteraction.subject, cb=_say_nothing)

    with pytest.raises(TransientError):
        await bus.ask(GetInteraction(question_id=uuid4(), user_id="u"), timeout=0.1)

    await silent.unsubscribe()


async def test_after_the_connection_has_closed_every_call_fails_for_now(bus: Bus) -> None:
    await bus.client.close()

    failures = await asyncio.gather(
        bus.publish(planned("Why?", "kb")),
        bus.ask(GetInteraction(question_id=uuid4(), user_id="u")),
        return_exceptions=True,
    )

    assert [type(failure) for failure in failures] == [TransientError, TransientError]


def test_no_time_is_left_after_a_deadline() -> None:
    assert seconds_left(now() - timedelta(seconds=5)) == 0
    assert 4 < seconds_left(now() + timedelta(seconds=5)) <= 5


async def _say_nothing(_: Msg) -> None:
    """A responder that hangs."""
