"""What becomes of messages: our pull consumers on a real server, one that may also be restarted."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import nats
import pytest
from nats.js.api import RetentionPolicy, StreamConfig
from pydantic import BaseModel

from citewire.contracts.streams import DEAD_LETTER_SUBJECT, DEAD_LETTERS
from citewire.runtime import delivery, process, provision
from citewire.runtime.bus import Bus
from citewire.runtime.delivery import Consumer
from citewire.runtime.errors import PermanentError, TransientError, not_found
from citewire.runtime.provision import ConsumerSpec
from citewire.runtime.service import Bindings
from citewire.runtime.settings import RuntimeSettings
from embedded.servers import ServerUrls
from own_nats import OwnNats
from waiting import until, until_found


class Parcel(BaseModel):
    """The event of these tests."""

    name: str


@dataclass
class Stage:
    """A stage function that notes what it is given, and does to each parcel what the test says."""

    act: Callable[[Parcel], Awaitable[None]] | None = None
    tries: list[str] = field(default_factory=list)
    handled: list[str] = field(default_factory=list)
    given_up: list[tuple[str, str]] = field(default_factory=list)

    async def handle(self, parcel: Parcel) -> None:
        self.tries.append(parcel.name)
        if self.act is not None:
            await self.act(parcel)
        self.handled.append(parcel.name)

    async def give_up(self, parcel: Parcel, reason: str) -> None:
        self.given_up.append((parcel.name, reason))


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "RETRY_DELAYS", (0.05,))


@pytest.fixture
async def spec(bus: Bus) -> AsyncGenerator[ConsumerSpec]:
    """A consumer on a stream of the test's own, both gone after it."""
    name = f"T{uuid4().hex[:12]}"
    await bus.js.add_stream(
        StreamConfig(name=name, subjects=[f"test.{name}"], retention=RetentionPolicy.WORK_QUEUE, max_age=600)
    )
    yield ConsumerSpec(f"c{name}", name, f"test.{name}", 4, timedelta(seconds=30), max_deliver=3)
    await bus.js.delete_stream(name)


@pytest.fixture
def own_nats(tmp_path: Path) -> Iterator[OwnNats]:
    server = OwnNats(tmp_path)
    server.start()
    yield server
    server.kill()


@contextlib.asynccontextmanager
async def consuming(nats_url: str, redis_url: str, spec: ConsumerSpec, stage: Stage) -> AsyncGenerator[Bus]:
    """A process that consumes, bound as `serve` binds it."""
    settings = RuntimeSettings(nats_url=nats_url, redis_url=redis_url, graceful_timeout=5)
    bindings = Bindings(consumers=(Consumer(spec, Parcel, stage.handle, stage.give_up),))
    async with process.connect(settings) as (broker, wires):
        await provision.put_consumers(wires.bus.js, [spec], max_replicas=1)
        async with process.working(broker, wires.bus, [bindings], graceful_timeout=5):
            yield wires.bus


async def send(bus: Bus, spec: ConsumerSpec, *names: str) -> None:
    for name in names:
        await bus.publish_raw(spec.subject, Parcel(name=name).model_dump_json().encode(), name)


async def waiting(bus: Bus, spec: ConsumerSpec) -> int:
    """Messages of the test's stream that are neither acknowledged nor set aside."""
    return (await bus.js.stream_info(spec.stream)).state.messages


async def until_settled(bus: Bus, spec: ConsumerSpec) -> None:
    async def is_empty() -> bool:
        return await waiting(bus, spec) == 0

    await until_found(is_empty)


async def dead_letters(bus: Bus, spec: ConsumerSpec) -> int:
    subject = f"{DEAD_LETTER_SUBJECT}.{spec.stream}.{spec.durable}"
    found = await bus.js.stream_info(DEAD_LETTERS, subjects_filter=subject)
    return (found.state.subjects or {}).get(subject, 0)


async def read_dead_letter(bus: Bus, spec: ConsumerSpec) -> tuple[bytes, dict[str, str]]:
    subject = f"{DEAD_LETTER_SUBJECT}.{spec.stream}.{spec.durable}"
    letters = await bus.js.subscribe(subject, stream=DEAD_LETTERS, ordered_consumer=True)
    message = await letters.next_msg(timeout=5)
    await letters.unsubscribe()
    return message.data, message.headers or {}


async def test_a_handled_message_is_acknowledged(servers: ServerUrls, bus: Bus, spec: ConsumerSpec) -> None:
    stage = Stage()

    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until_settled(bus, spec)

    assert stage.tries == ["a"]
    assert await dead_letters(bus, spec) == 0


async def test_a_transient_failure_is_tried_again_after_its_delay(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    tried_at: list[float] = []

    async def fail_once(_: Parcel) -> None:
        tried_at.append(time.monotonic())
        if len(tried_at) == 1:
            raise TransientError("away", retry_after=0.5)

    stage = Stage(fail_once)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until_settled(bus, spec)

    assert stage.handled == ["a"]
    assert tried_at[1] - tried_at[0] >= 0.4
    assert stage.given_up == []


async def test_b03_a_stage_that_always_raises_is_tried_finitely_and_set_aside_with_its_reason(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    async def raise_bug(_: Parcel) -> None:
        raise ZeroDivisionError("oh\nno")

    stage = Stage(raise_bug)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until_settled(bus, spec)

    data, headers = await read_dead_letter(bus, spec)
    assert stage.tries == ["a"] * spec.max_deliver
    assert stage.given_up == [("a", "ZeroDivisionError: oh\nno")]
    assert Parcel.model_validate_json(data).name == "a"
    assert headers["Citewire-Reason"] == "ZeroDivisionError: oh no"
    assert headers["Citewire-Subject"] == spec.subject
    assert headers["Citewire-Deliveries"] == str(spec.max_deliver)


async def test_a_transient_failure_without_end_is_set_aside(servers: ServerUrls, bus: Bus, spec: ConsumerSpec) -> None:
    async def fail(_: Parcel) -> None:
        raise TransientError("still away", retry_after=0.01)

    stage = Stage(fail)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until_settled(bus, spec)

    assert stage.tries == ["a"] * spec.max_deliver
    assert stage.given_up == [("a", "TransientError: still away")]
    assert await dead_letters(bus, spec) == 1


@pytest.mark.parametrize("error", [PermanentError("never"), not_found("thing")])
async def test_what_can_never_succeed_is_set_aside_at_once(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, error: Exception
) -> None:
    async def refuse(_: Parcel) -> None:
        raise error

    stage = Stage(refuse)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until_settled(bus, spec)

    assert stage.tries == ["a"]
    assert stage.given_up == [("a", str(error))]
    assert await dead_letters(bus, spec) == 1


@pytest.mark.parametrize("payload", [b"{bad json", b"", b"\xff\x00", b'{"other": 1}'])
async def test_b03_an_unreadable_message_is_set_aside_at_once(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec, payload: bytes
) -> None:
    stage = Stage()

    async with consuming(servers.nats, servers.redis, spec, stage):
        await bus.publish_raw(spec.subject, payload, "poison")
        await until_settled(bus, spec)

    data, headers = await read_dead_letter(bus, spec)
    assert (stage.tries, stage.given_up) == ([], [])
    assert data == payload
    assert headers["Citewire-Reason"].startswith("unreadable: ")


async def test_b04_five_good_messages_behind_a_poison_one_are_handled(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    stage = Stage()

    async with consuming(servers.nats, servers.redis, spec, stage):
        await bus.publish_raw(spec.subject, b"{bad json", "poison")
        await send(bus, spec, *"abcde")
        await until_settled(bus, spec)

    assert sorted(stage.handled) == [*"abcde"]
    assert await dead_letters(bus, spec) == 1


async def test_a_reason_in_any_script_travels_as_a_header(servers: ServerUrls, bus: Bus, spec: ConsumerSpec) -> None:
    async def refuse(_: Parcel) -> None:
        raise PermanentError("Datei „Übersicht“ 标准化\x00\r\n" + "x" * 2000)

    stage = Stage(refuse)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until_settled(bus, spec)

    _, headers = await read_dead_letter(bus, spec)
    assert headers["Citewire-Reason"].startswith("Datei „Übersicht“ 标准化")
    assert len(headers["Citewire-Reason"]) <= delivery.MAX_REASON


async def test_b01_a_long_handler_keeps_its_message(servers: ServerUrls, bus: Bus, spec: ConsumerSpec) -> None:
    spec = replace(spec, ack_wait=timedelta(seconds=1), is_long=True)

    async def take_long(_: Parcel) -> None:
        await asyncio.sleep(2.5)

    stage = Stage(take_long)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until_settled(bus, spec)

    assert stage.tries == ["a"]


async def test_a_message_that_outlived_all_its_tries_is_set_aside_unhandled(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    await provision.put_consumers(bus.js, [spec], max_replicas=1)
    await send(bus, spec, "a")
    dying = await bus.js.pull_subscribe_bind(consumer=spec.durable, stream=spec.stream)
    for _ in range(spec.max_deliver):
        (message,) = await dying.fetch(1, timeout=5)
        await message.nak()

    stage = Stage()
    async with consuming(servers.nats, servers.redis, spec, stage):
        await until_settled(bus, spec)

    assert stage.tries == []
    assert [name for name, _ in stage.given_up] == ["a"]
    assert await dead_letters(bus, spec) == 1


async def test_no_more_than_workers_are_handled_at_once_and_each_exactly_once(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    names = [str(number) for number in range(spec.workers * 5)]
    at_once: set[str] = set()
    most = 0

    async def work(parcel: Parcel) -> None:
        nonlocal most
        at_once.add(parcel.name)
        most = max(most, len(at_once))
        await asyncio.sleep(0.02)
        at_once.remove(parcel.name)

    stage = Stage(work)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, *names)
        await until_settled(bus, spec)

    assert most == spec.workers
    assert sorted(stage.tries) == sorted(names)


async def test_a_long_message_does_not_hold_up_the_others(servers: ServerUrls, bus: Bus, spec: ConsumerSpec) -> None:
    others_done = asyncio.Event()

    async def wait_for_the_others(parcel: Parcel) -> None:
        if parcel.name == "long":
            await others_done.wait()

    stage = Stage(wait_for_the_others)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "long", *"abcdefghijklmnopqrst")
        await until(lambda: len(stage.handled) == 20, seconds=3)
        others_done.set()
        await until_settled(bus, spec)

    assert stage.handled[-1] == "long"


async def test_work_in_hand_ends_before_the_consumer_does(servers: ServerUrls, bus: Bus, spec: ConsumerSpec) -> None:
    async def take_a_while(_: Parcel) -> None:
        await asyncio.sleep(0.3)

    stage = Stage(take_a_while)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until(lambda: stage.tries == ["a"])

    assert stage.handled == ["a"]
    assert await waiting(bus, spec) == 0


async def test_a_consumer_that_the_server_lacks_for_a_while_is_asked_for_calmly(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    stage = Stage()
    async with consuming(servers.nats, servers.redis, spec, stage) as consuming_bus:
        await bus.js.delete_consumer(spec.stream, spec.durable)
        before = consuming_bus.client.stats["out_msgs"]
        await asyncio.sleep(0.5)
        asked = consuming_bus.client.stats["out_msgs"] - before

        await provision.put_consumers(bus.js, [spec], max_replicas=1)
        await send(bus, spec, "a")
        await until(lambda: stage.handled == ["a"])

    assert asked < 10


async def test_a_consumer_goes_on_after_a_restart_and_nothing_spins_meanwhile(
    own_nats: OwnNats, servers: ServerUrls
) -> None:
    client = await nats.connect(own_nats.url, max_reconnect_attempts=-1, reconnect_time_wait=0.1, error_cb=_ignore)
    await client.jetstream().add_stream(StreamConfig(name="T", subjects=["test.restart"]))
    spec = ConsumerSpec("c", "T", "test.restart", 4, timedelta(seconds=30), max_deliver=3)
    bus, stage, ticks = Bus(client, client.jetstream()), Stage(), 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    async with consuming(own_nats.url, servers.redis, spec, stage):
        await send(bus, spec, "before")
        await until(lambda: stage.handled == ["before"])

        own_nats.kill()
        ticks = 0
        await until(lambda: ticks >= 50)
        own_nats.start()
        up_at = time.monotonic()
        await until(lambda: client.is_connected)
        await send(bus, spec, "after")
        await until(lambda: stage.handled == ["before", "after"])

        assert time.monotonic() - up_at < 10
    ticking.cancel()
    await client.close()


async def _ignore(_: Exception) -> None:
    """The client tells of the restart that the test makes."""
