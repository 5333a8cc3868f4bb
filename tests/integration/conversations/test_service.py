"""The persister as it runs: what is published is stored once, whatever it holds and whatever is away."""

import contextlib
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from citewire.contracts.events import QuestionRejected
from citewire.contracts.requests import GetInteraction, ReplayOutcome
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.contracts.streams import DEAD_LETTERS, OUTCOMES
from citewire.runtime import connection, delivery, process
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal
from citewire.runtime.provision import STORER
from citewire.runtime.settings import RuntimeSettings
from conversations import ASKED_AT, asked, begin_log, citation, outcome, outcome_of, published, rejected
from embedded.servers import ServerUrls
from persister.app import create_app
from restartable import Restartable, restartable_postgres
from waiting import until_found


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "RETRY_DELAYS", (0.1,))


@pytest.fixture
def own_postgres(tmp_path: Path) -> Iterator[Restartable]:
    with restartable_postgres(tmp_path) as server:
        yield server


@contextlib.asynccontextmanager
async def persisting(servers: ServerUrls) -> AsyncGenerator[None]:
    """A process of the persister."""
    settings = RuntimeSettings(nats_url=servers.nats, redis_url=servers.redis)
    async with (
        connection.connect(settings) as (broker, wires),
        create_app().start(wires) as bindings,
        process.working(broker, wires.bus, [bindings], graceful_timeout=5),
    ):
        yield


@pytest.fixture
async def service(
    servers: ServerUrls, database: str, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[None]:
    """The persister on a database of the test's own."""
    monkeypatch.setenv("CITEWIRE_POSTGRES_URL", database)
    async with persisting(servers):
        yield


async def stored(bus: Bus, question_id: UUID) -> Interaction:
    """The outcome of ann's question, once there is one."""
    found: list[Interaction] = []

    async def look() -> bool:
        with contextlib.suppress(Refusal):
            reply = await bus.ask(GetInteraction(question_id=question_id, user_id="ann"))
            found.append(reply.interaction)
        return bool(found) and found[-1].status is not InteractionStatus.PENDING

    await until_found(look, 20)
    return found[-1]


@pytest.mark.usefixtures("service")
async def test_a_replayed_outcome_is_the_recorded_one_and_comes_again(bus: Bus) -> None:
    question = asked()
    event = outcome_of(question, citations=(citation(1),))
    await bus.publish(question)
    await bus.publish(event)
    await stored(bus, question.question_id)

    await bus.ask(ReplayOutcome(question_id=question.question_id, asker="web"))

    first, again = await published(bus)
    assert first == event
    assert again.model_copy(update={"occurred_at": event.occurred_at}) == event


@pytest.mark.usefixtures("service")
async def test_b06_a_replayed_rejection_has_its_reason_and_its_question(bus: Bus) -> None:
    event = rejected(asked(), asked_at=ASKED_AT)
    await bus.publish(event)
    await stored(bus, event.question_id)

    await bus.ask(ReplayOutcome(question_id=event.question_id, asker="web"))

    message = await bus.js.get_last_msg(OUTCOMES, event.full_subject)
    again = QuestionRejected.model_validate_json(message.data or b"")
    assert (await bus.js.stream_info(OUTCOMES)).state.messages == 2
    assert again.model_copy(update={"occurred_at": event.occurred_at}) == event


@pytest.mark.usefixtures("service")
async def test_the_outcome_of_another_asker_is_not_replayed(bus: Bus) -> None:
    event = outcome()
    await bus.publish(event)
    await stored(bus, event.question_id)

    with pytest.raises(Refusal) as refused:
        await bus.ask(ReplayOutcome(question_id=event.question_id, asker="shop"))

    assert refused.value.problem.status == 404


POISON = {
    "nul": b"Ten\\u0000 metres.",
    "half_a_character": b"Ten\\ud83d metres.",
    "half_a_byte_sequence": b"Ten metres.\xf0\x9f",
}


@pytest.mark.parametrize("text", list(POISON.values()), ids=list(POISON))
@pytest.mark.usefixtures("service")
async def test_g01_an_outcome_with_poison_in_its_text_is_stored_without_it(bus: Bus, text: bytes) -> None:
    event = outcome()
    payload = event.model_dump_json().encode().replace(b"Ten metres.", text)

    await bus.publish_raw(event.full_subject, payload, str(event.event_id))

    content = (await stored(bus, event.question_id)).model_response.content
    assert content.rstrip("\N{REPLACEMENT CHARACTER}") == "Ten metres."


@pytest.mark.parametrize("number", [b"NaN", b"-Infinity", b"1e999"])
@pytest.mark.usefixtures("service")
async def test_an_outcome_with_numbers_that_are_none_is_stored(bus: Bus, number: bytes) -> None:
    event = outcome()
    payload = event.model_dump_json().encode().replace(b'"total":12.5', b'"total":' + number)

    await bus.publish_raw(event.full_subject, payload, str(event.event_id))

    assert (await stored(bus, event.question_id)).elapsed_ms == {"total": 0.0}


@pytest.mark.usefixtures("service")
async def test_b04_an_outcome_that_can_never_be_stored_ends_its_question_and_holds_up_no_other(bus: Bus) -> None:
    poison, good = outcome(citations=(citation(1), citation(1))), outcome()

    await bus.publish(poison)
    await bus.publish(good)

    assert (await stored(bus, good.question_id)).status is InteractionStatus.FINISHED
    assert (await stored(bus, poison.question_id)).status is InteractionStatus.FAILED
    assert (await bus.js.stream_info(DEAD_LETTERS)).state.messages == 1


async def test_a10_an_answer_whose_workers_all_died_is_ended_and_stored_and_its_reader_told(
    servers: ServerUrls, database: str, bus: Bus, answer_log: AnswerLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWIRE_POSTGRES_URL", database)
    monkeypatch.setenv("CITEWIRE_PERSISTER_SWEEP_INTERVAL", "0.1")
    monkeypatch.setenv("CITEWIRE_PERSISTER_SWEEP_GRACE", "0")
    question = asked(seconds=0)
    await begin_log(answer_log, question, "Ten ", "metres")

    async with persisting(servers):
        await bus.publish(question)
        interaction = await stored(bus, question.question_id)
        await until_found(lambda: has_entries(answer_log, question.question_id, 5))

    assert (interaction.status, interaction.model_response.content) == (InteractionStatus.INCOMPLETE, "Ten metres")
    assert await answer_log.read(question.question_id, 4) == ['stored {"status":"incomplete"}']


async def has_entries(log: AnswerLog, question_id: UUID, number: int) -> bool:
    return len(await log.read(question_id, 0)) == number


async def test_b13_what_is_published_while_postgres_is_away_is_stored_when_it_is_back(
    servers: ServerUrls, own_postgres: Restartable, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWIRE_POSTGRES_URL", own_postgres.url)
    answered, refused = asked(), asked()
    async with persisting(servers):
        own_postgres.kill()
        for event in (answered, refused, outcome_of(answered), rejected(refused)):
            await bus.publish(event)
        await until_found(lambda: is_tried_again(bus))

        own_postgres.start()

        assert (await stored(bus, answered.question_id)).status is InteractionStatus.FINISHED
        assert (await stored(bus, refused.question_id)).degraded == "There is no such session."


async def is_tried_again(bus: Bus) -> bool:
    return bool((await bus.js.consumer_info(STORER.stream, STORER.durable)).num_redelivered)


async def test_t3_a_persister_that_dies_leaves_its_outcomes_to_the_next(
    servers: ServerUrls, database: str, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWIRE_POSTGRES_URL", database)
    first, second = outcome(), outcome()
    async with persisting(servers):
        await bus.publish(first)
        await stored(bus, first.question_id)
    await bus.publish(second)

    async with persisting(servers):
        assert await stored(bus, second.question_id) == second.interaction
