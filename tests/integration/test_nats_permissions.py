"""Who may say and hear what, by the server's own word: it runs with the configuration that is deployed."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from nats.aio.client import Client
from nats.errors import NoRespondersError
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import ServiceUnavailableError

from citewire.contracts.providers import Provider
from citewire.contracts.streams import KB_BUCKET, KEY_BUCKET, OUTCOMES, PROVIDER_BUCKET, QUESTIONS, SEGMENTS
from citewire.runtime.bus import Bus
from citewire.runtime.providers import open_providers
from citewire.runtime.provision import provision
from citewire.runtime.settings import ROLES, RuntimeSettings
from embedded.servers import ServerUrls

Connect = Callable[[str], Awaitable["Guest"]]


class Guest:
    """A connection that remembers what the server forbade it."""

    def __init__(self) -> None:
        self.client = Client()
        self.refused: list[str] = []

    async def connect(self, url: str) -> None:
        prefix = RuntimeSettings(nats_url=url).inbox_prefix
        await self.client.connect(url, inbox_prefix=prefix, error_cb=self._note, allow_reconnect=False)

    async def _note(self, error: Exception) -> None:
        self.refused.append(str(error))

    async def may_publish(self, subject: str) -> bool:
        await self.client.publish(subject, b"{}")
        return await self._was_allowed()

    async def may_subscribe(self, subject: str) -> bool:
        await self.client.subscribe(subject)
        return await self._was_allowed()

    async def _was_allowed(self) -> bool:
        # The server answers in order: what it forbids comes before the answer to this.
        await heard(self.client)
        return not self.refused


async def heard(client: Client) -> None:
    """Return once the server has read all that a client sent: its ping overtakes what still waits, a second doesn't."""
    for _ in range(2):
        await client.flush()


@pytest.fixture
async def connect(servers: ServerUrls, bus: Bus) -> AsyncGenerator[Connect]:
    guests: list[Guest] = []

    async def as_user(user: str) -> Guest:
        guests.append(guest := Guest())
        await guest.connect(servers.nats_by_user[user])
        return guest

    yield as_user
    for guest in guests:
        await guest.client.close()


@pytest.fixture
async def shop(connect: Connect) -> Client:
    return (await connect("shop")).client


async def waiting(bus: Bus, stream: str) -> int:
    return (await bus.js.stream_info(stream)).state.messages


@pytest.mark.parametrize(
    ("role", "subject"),
    [
        ("gateway", "qa.v1.question.asked.web"),
        ("gateway", "qa.v1.answer.stop.web.1"),
        ("autoquery", "qa.v1.retrieval.planned"),
        ("retriever", "qa.v1.segments.found.1.kb"),
        ("generator", "qa.v1.interaction.finished.shop"),
        ("persister", "qa.v1.interaction.finished.shop"),
        ("citewire", "qa.v1.question.asked.anybody"),
        ("gateway", f"$KV.{PROVIDER_BUCKET}.main"),
    ],
)
async def test_a_role_says_what_is_its_own(connect: Connect, role: str, subject: str) -> None:
    guest = await connect(role)

    assert await guest.may_publish(subject)


@pytest.mark.parametrize(
    ("role", "subject"),
    [
        ("gateway", "qa.v1.question.asked.shop"),
        ("gateway", "qa.v1.answer.stop.shop.1"),
        ("gateway", "qa.v1.interaction.finished.web"),
        ("gateway", f"$KV.{KB_BUCKET}.handbook"),
        ("autoquery", "qa.v1.question.asked.web"),
        ("autoquery", "qa.v1.segments.found.1.kb"),
        ("autoquery", f"$KV.{KEY_BUCKET}.stolen"),
        ("autoquery", f"$JS.API.CONSUMER.CREATE.KV_{KEY_BUCKET}"),
        ("autoquery", f"$JS.API.STREAM.MSG.GET.KV_{KEY_BUCKET}"),
        ("autoquery", f"$KV.{PROVIDER_BUCKET}.main"),
        ("retriever", f"$KV.{PROVIDER_BUCKET}.main"),
        ("generator", f"$KV.{PROVIDER_BUCKET}.main"),
        ("generator", f"$JS.API.STREAM.UPDATE.KV_{PROVIDER_BUCKET}"),
        ("persister", f"$KV.{PROVIDER_BUCKET}.main"),
        ("persister", f"$JS.API.CONSUMER.CREATE.KV_{PROVIDER_BUCKET}"),
        ("persister", f"$JS.API.CONSUMER.DURABLE.CREATE.KV_{PROVIDER_BUCKET}.thief"),
        ("persister", f"$JS.API.STREAM.MSG.GET.KV_{PROVIDER_BUCKET}"),
        ("retriever", "qa.v1.retrieval.planned"),
        ("retriever", "qa.v1.interaction.finished.web"),
        ("retriever", f"$JS.API.CONSUMER.DURABLE.CREATE.KV_{KEY_BUCKET}.thief"),
        ("generator", "qa.v1.question.asked.web"),
        ("generator", "kb.v1.remove"),
        ("generator", "sessions.v1.delete"),
        ("persister", "qa.v1.question.asked.web"),
        ("persister", "qa.v1.retrieval.planned"),
        ("persister", "$JS.API.STREAM.DELETE.QA_QUESTIONS"),
        ("persister", "$JS.API.STREAM.PURGE.QA_OUTCOMES"),
        ("persister", "$JS.API.CONSUMER.MSG.NEXT.QA_PLANS.generator"),
    ],
)
async def test_a_role_does_not_say_what_is_anothers(connect: Connect, role: str, subject: str) -> None:
    guest = await connect(role)

    assert not await guest.may_publish(subject)


@pytest.mark.parametrize(
    ("role", "subject"),
    [
        ("gateway", "qa.v1.interaction.finished.>"),
        ("gateway", "_INBOX_persister.>"),
        ("autoquery", "qa.v1.segments.found.>"),
        ("retriever", "qa.v1.question.asked.>"),
        ("generator", "$KV.>"),
        ("persister", "qa.v1.segments.found.>"),
        ("persister", ">"),
    ],
)
async def test_a_role_does_not_hear_what_is_anothers(connect: Connect, role: str, subject: str) -> None:
    guest = await connect(role)

    assert not await guest.may_subscribe(subject)


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_makes_anew_what_the_server_has_lost(connect: Connect, bus: Bus, role: str) -> None:
    guest = await connect(role)
    await bus.js.delete_stream(SEGMENTS)

    await provision(guest.client.jetstream(), max_replicas=1)

    assert await waiting(bus, SEGMENTS) == 0
    assert guest.refused == []


@pytest.mark.parametrize("role", ["gateway", "autoquery", "retriever", "generator"])
async def test_a_role_that_may_ask_a_model_sees_its_settings(connect: Connect, bus: Bus, role: str) -> None:
    guest = await connect(role)
    main = Provider(name="main")

    async with open_providers(Bus(guest.client, guest.client.jetstream())) as providers:
        await (await bus.js.key_value(PROVIDER_BUCKET)).put("main", main.model_dump_json().encode())
        await providers.registry.wait_for("main", present=True)
        read = await providers.registry.read("main")

    assert (read, guest.refused) == (main, [])


@pytest.mark.parametrize("login", [{}, {"user": "shop", "pass": "guess"}, {"user": "nobody", "pass": "guess"}])
async def test_who_has_no_password_does_not_get_in(servers: ServerUrls, login: dict[str, str]) -> None:
    server = urlsplit(servers.nats)
    reader, writer = await asyncio.open_connection(server.hostname, server.port)

    writer.write(f"CONNECT {json.dumps(login)}\r\nPING\r\n".encode())
    replies = await reader.read()
    writer.close()

    assert b"Authorization Violation" in replies
    assert b"PONG" not in replies


async def test_another_service_asks_under_its_own_name(shop: Client, bus: Bus) -> None:
    reply = await shop.request("qa.v1.question.asked.shop", b"{}", headers={"Nats-Msg-Id": str(uuid4())})

    assert json.loads(reply.data)["stream"] == QUESTIONS
    assert await waiting(bus, QUESTIONS) == 1


async def test_b01_a_question_under_another_name_comes_nowhere(shop: Client, bus: Bus) -> None:
    await shop.publish("qa.v1.question.asked.web", b"{}")
    await shop.publish("qa.v1.question.asked.billing", b"{}")
    await shop.request("qa.v1.question.asked.shop", b"{}")

    assert await waiting(bus, QUESTIONS) == 1


async def test_another_service_hears_its_own_outcomes_and_nobody_elses(shop: Client, bus: Bus) -> None:
    everything = await shop.subscribe(">")
    await heard(shop)

    for subject in (
        "qa.v1.interaction.finished.web",
        "qa.v1.question.rejected.billing",
        "qa.v1.segments.found.1.handbook",
        f"$KV.{KEY_BUCKET}.fingerprint",
        "_INBOX_gateway.reply",
        "qa.v1.interaction.finished.shop",
        "qa.v1.question.rejected.shop",
    ):
        await bus.client.publish(subject, b"{}")
    subjects = [(await everything.next_msg(timeout=5)).subject for _ in range(2)]
    await heard(bus.client)
    await heard(shop)

    assert subjects == ["qa.v1.interaction.finished.shop", "qa.v1.question.rejected.shop"]
    assert not everything.pending_msgs


async def test_another_service_stops_its_own_questions_only(shop: Client, bus: Bus) -> None:
    stops = await bus.client.subscribe("qa.v1.answer.stop.>")
    await heard(bus.client)

    await shop.publish("qa.v1.answer.stop.web.1")
    await shop.publish("qa.v1.answer.stop.shop.2")
    stop = await stops.next_msg(timeout=5)

    assert stop.subject == "qa.v1.answer.stop.shop.2"


async def test_another_service_reaches_no_stream_and_no_bucket(shop: Client) -> None:
    js = shop.jetstream(timeout=1)

    for attempt in (js.stream_info(QUESTIONS), js.key_value(KEY_BUCKET), js.get_last_msg(OUTCOMES, ">")):
        with pytest.raises((ServiceUnavailableError, NoRespondersError, TimeoutError)):
            await attempt


async def test_another_service_asks_no_owner_of_data(shop: Client, bus: Bus) -> None:
    asked = await bus.client.subscribe("kb.v1.remove")
    await heard(bus.client)

    with pytest.raises((NoRespondersError, TimeoutError)):
        await shop.request("kb.v1.remove", b"{}", timeout=0.5)

    assert not asked.pending_msgs


async def test_a_reply_subject_does_not_carry_the_servers_word_into_anothers_bucket(shop: Client, bus: Bus) -> None:
    before = await waiting(bus, f"KV_{KB_BUCKET}")

    await shop.publish("qa.v1.question.asked.shop", b"{}", reply=f"$KV.{KB_BUCKET}.handbook")
    await shop.request("qa.v1.question.asked.shop", b"{}")

    assert await waiting(bus, f"KV_{KB_BUCKET}") == before


async def test_outcomes_wait_for_a_service_that_is_away(shop: Client, bus: Bus) -> None:
    config = ConsumerConfig(
        durable_name="shop", filter_subject="qa.v1.interaction.finished.shop", ack_policy=AckPolicy.EXPLICIT
    )
    await bus.js.add_consumer(OUTCOMES, config)
    for asker in ("web", "shop"):
        await bus.js.publish(f"qa.v1.interaction.finished.{asker}", asker.encode())

    next_one = f"$JS.API.CONSUMER.MSG.NEXT.{OUTCOMES}.shop"
    outcome = await shop.request(next_one, b'{"batch": 1}', timeout=5, old_style=True)
    await shop.publish(outcome.reply, b"+ACK")

    assert outcome.data == b"shop"
    async with asyncio.timeout(5):
        while (await bus.js.consumer_info(OUTCOMES, "shop")).num_ack_pending:
            await asyncio.sleep(0.01)
    await bus.js.delete_consumer(OUTCOMES, "shop")
