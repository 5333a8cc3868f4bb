"""Messages that were set aside: listed, read, retried by their consumer and dropped, on a real server."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from nats.aio.msg import Msg

from builders import planned
from citewire.contracts.dead_letters import SUBJECT_HEADER
from citewire.contracts.events import now
from citewire.contracts.requests import GetInteraction, InteractionReply, RetryDeadLetter
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.contracts.streams import DEAD_LETTER_SUBJECT, DEAD_LETTERS
from citewire.runtime import dead_letters as retries
from citewire.runtime.bus import Bus
from citewire.runtime.delivery import Consumer
from citewire.runtime.errors import PermanentError, Refusal, TransientError
from citewire.runtime.provision import ConsumerSpec
from embedded.servers import ServerUrls
from gateway.dead_letters import PREVIEW, DeadLetters
from parcels import Parcel, Stage, consuming, own_stream, send, until_settled
from waiting import until_found


class Addressed(Parcel):
    """A parcel that says where it was published."""

    full_subject: str


@pytest.fixture
async def spec(bus: Bus) -> AsyncGenerator[ConsumerSpec]:
    async with own_stream(bus) as spec:
        yield spec


@pytest.fixture
def letters(bus: Bus) -> DeadLetters:
    return DeadLetters(bus)


async def refuse(_: Parcel) -> None:
    raise PermanentError("never")


async def set_aside(servers: ServerUrls, bus: Bus, spec: ConsumerSpec, *names: str) -> None:
    async with consuming(servers.nats, servers.redis, spec, Stage(refuse)):
        for name in names:
            await send(bus, spec, name)
            await until_settled(bus, spec)


async def kept(bus: Bus) -> int:
    return (await bus.js.stream_info(DEAD_LETTERS)).state.messages


async def test_without_letters_the_page_is_empty(letters: DeadLetters) -> None:
    page = await letters.page(0, 10)

    assert (page.letters, page.next_cursor) == ((), None)


async def test_a_letter_says_what_was_set_aside_where_and_why(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, letters: DeadLetters
) -> None:
    await set_aside(servers, bus, spec, "Ünïcode 标准")

    (letter,) = (await letters.page(0, 10)).letters
    assert (letter.stream, letter.consumer, letter.subject) == (spec.stream, spec.durable, spec.subject)
    assert (letter.reason, letter.deliveries, letter.is_cut) == ("never", 1, False)
    assert Parcel.model_validate_json(letter.payload).name == "Ünïcode 标准"
    assert letter.size == len(letter.payload.encode())
    assert now() - letter.set_aside_at < timedelta(minutes=1)


async def test_pages_follow_each_other_without_gap_or_overlap(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, letters: DeadLetters
) -> None:
    await set_aside(servers, bus, spec, *"abcde")
    names: list[str] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = await letters.page(int(cursor), 2)
        names += [Parcel.model_validate_json(letter.payload).name for letter in page.letters]
        cursor = page.next_cursor

    assert names == [*"abcde"]


async def test_a_list_shortens_payloads_and_one_letter_is_whole(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, letters: DeadLetters
) -> None:
    await set_aside(servers, bus, spec, "x" * 5000)

    (short,) = (await letters.page(0, 10)).letters
    whole = await letters.read(short.sequence)
    assert len(short.payload) == PREVIEW
    assert Parcel.model_validate_json(whole.payload).name == "x" * 5000
    assert whole.model_copy(update={"payload": ""}) == short.model_copy(update={"payload": ""})


async def test_a_retry_that_succeeds_drops_the_letter(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, letters: DeadLetters
) -> None:
    await set_aside(servers, bus, spec, "a")
    (letter,) = (await letters.page(0, 10)).letters

    repaired = Stage()
    async with consuming(servers.nats, servers.redis, spec, repaired):
        retried = await letters.retry(letter.sequence)

    assert retried.is_handled
    assert repaired.handled == ["a"]
    assert await kept(bus) == 0


async def test_a_retry_that_fails_says_why_and_keeps_the_letter(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, letters: DeadLetters
) -> None:
    await set_aside(servers, bus, spec, "a")
    (letter,) = (await letters.page(0, 10)).letters

    stage = Stage(refuse)
    async with consuming(servers.nats, servers.redis, spec, stage):
        with pytest.raises(Refusal, match="never") as refusal:
            await letters.retry(letter.sequence)

    assert refusal.value.problem.status == 409
    assert stage.given_up == []
    assert await kept(bus) == 1


async def test_a_retry_that_takes_long_goes_on_after_the_reply(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, letters: DeadLetters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "PATIENCE", 0.05)
    await set_aside(servers, bus, spec, "a")
    (letter,) = (await letters.page(0, 10)).letters
    release = asyncio.Event()

    async def wait_for_release(_: Parcel) -> None:
        await release.wait()

    async def is_dropped() -> bool:
        return await kept(bus) == 0

    async with consuming(servers.nats, servers.redis, spec, Stage(wait_for_release)):
        retried = await letters.retry(letter.sequence)
        with pytest.raises(Refusal, match="already"):
            await letters.retry(letter.sequence)
        release.set()
        await until_found(is_dropped)

    assert not retried.is_handled


async def test_a_retry_without_its_consumer_fails_for_now(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, letters: DeadLetters
) -> None:
    await set_aside(servers, bus, spec, "a")
    (letter,) = (await letters.page(0, 10)).letters

    with pytest.raises(TransientError):
        await letters.retry(letter.sequence)

    assert await kept(bus) == 1


async def test_an_unreadable_message_can_not_be_retried(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, letters: DeadLetters
) -> None:
    async with consuming(servers.nats, servers.redis, spec, Stage()):
        await bus.publish_raw(spec.subject, b"{bad json", "poison")
        await until_settled(bus, spec)
        (letter,) = (await letters.page(0, 10)).letters

        with pytest.raises(Refusal, match="unreadable"):
            await letters.retry(letter.sequence)


async def test_a_message_that_speaks_for_another_is_not_retried(
    bus: Bus, spec: ConsumerSpec, letters: DeadLetters
) -> None:
    forged = Addressed(name="a", full_subject="test.somebody-else").model_dump_json().encode()
    subject = f"{DEAD_LETTER_SUBJECT}.{spec.stream}.{spec.durable}"
    await bus.publish_raw(subject, forged, "forged", {SUBJECT_HEADER: spec.subject})
    (letter,) = (await letters.page(0, 10)).letters
    stage = Stage()

    async with retries.retrying(bus, [Consumer(spec, Addressed, stage.handle)]) as (responder,):
        with pytest.raises(Refusal, match="another subject"):
            await responder.handle(RetryDeadLetter(consumer=spec.durable, sequence=letter.sequence))

    assert stage.handled == []


@pytest.mark.parametrize("status", [InteractionStatus.FINISHED, InteractionStatus.FAILED])
async def test_the_letter_of_a_question_that_has_ended_is_not_retried(
    bus: Bus, letters: DeadLetters, status: InteractionStatus
) -> None:
    plan = planned()
    await bus.publish_raw("dead.v1.QA_PLANS.generator", plan.model_dump_json().encode(), str(uuid4()))
    (letter,) = (await letters.page(0, 10)).letters

    async def answer(message: Msg) -> None:
        request = GetInteraction.model_validate_json(message.data)
        reply = InteractionReply(interaction=ended(request.question_id, status))
        await message.respond(reply.model_dump_json().encode())

    persister = await bus.client.subscribe(GetInteraction.subject, cb=answer)
    with pytest.raises(Refusal, match="has ended") as refusal:
        await letters.retry(letter.sequence)
    await persister.unsubscribe()

    assert refusal.value.problem.status == 409


def ended(question_id: UUID, status: InteractionStatus) -> Interaction:
    return Interaction.model_validate(
        {
            "question_id": question_id,
            "session_id": uuid4(),
            "status": status,
            "user_input": {"content": "?", "at": now()},
        }
    )


async def test_a_dropped_letter_is_gone(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, letters: DeadLetters
) -> None:
    await set_aside(servers, bus, spec, "a", "b")
    first, second = (await letters.page(0, 10)).letters

    await letters.remove(first.sequence)

    assert (await letters.page(0, 10)).letters == (second,)
    for call in (letters.read, letters.retry, letters.remove):
        with pytest.raises(Refusal) as refusal:
            await call(first.sequence)
        assert refusal.value.problem.status == 404
