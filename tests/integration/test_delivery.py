"""What becomes of messages: acknowledged, tried again or set aside, on a real server."""

import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta

import pytest
from nats.aio.msg import Msg

from citewire.runtime import delivery, provision
from citewire.runtime.bus import Bus
from citewire.runtime.errors import PermanentError, TransientError, not_found
from citewire.runtime.provision import ConsumerSpec
from embedded.servers import ServerUrls
from parcels import (
    Parcel,
    Stage,
    consuming,
    dead_letters,
    own_stream,
    read_dead_letter,
    send,
    until_settled,
)
from waiting import until


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "RETRY_DELAYS", (0.05,))


@pytest.fixture
async def spec(bus: Bus) -> AsyncGenerator[ConsumerSpec]:
    async with own_stream(bus) as spec:
        yield spec


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


async def test_who_sent_an_unreadable_message_is_told_of_each_fault(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    stage = Stage()

    async with consuming(servers.nats, servers.redis, spec, stage):
        await bus.publish_raw(spec.subject, b'{"name": 1}', "poison")
        await until_settled(bus, spec)

    assert stage.refused == [(spec.subject, b'{"name": 1}', "unreadable: name: Input should be a valid string")]


async def test_telling_is_tried_again_until_it_succeeds(servers: ServerUrls, bus: Bus, spec: ConsumerSpec) -> None:
    async def fail_twice() -> None:
        if len(stage.refused) <= 2:
            raise TransientError("away")

    stage = Stage(on_telling=fail_twice)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await bus.publish_raw(spec.subject, b"{bad json", "poison")
        await until_settled(bus, spec)

    assert len(stage.refused) == 3
    assert await dead_letters(bus, spec) == 1


async def test_a_bug_in_giving_up_does_not_bring_the_message_back(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    async def refuse(_: Parcel) -> None:
        raise PermanentError("never")

    async def raise_bug() -> None:
        raise ZeroDivisionError

    stage = Stage(refuse, raise_bug)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until_settled(bus, spec)

    assert stage.tries == ["a"]
    assert await dead_letters(bus, spec) == 1


async def test_a_poison_message_as_large_as_the_server_takes_is_set_aside_cut(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    payload = b"x" * bus.client.max_payload
    stage = Stage()

    async with consuming(servers.nats, servers.redis, spec, stage):
        await bus.js.publish(spec.subject, payload)
        await until_settled(bus, spec)

    data, headers = await read_dead_letter(bus, spec)
    assert data == payload[: bus.max_payload]
    assert headers["Citewire-Cut-From"] == str(len(payload))


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
    extensions: list[bytes] = []

    async def note(message: Msg) -> None:
        if message.data == b"+WPI":
            extensions.append(message.data)

    async def take_two_windows(_: Parcel) -> None:
        await until(lambda: len(extensions) >= 6)

    acknowledgements = await bus.client.subscribe(f"$JS.ACK.{spec.stream}.{spec.durable}.>", cb=note)
    stage = Stage(take_two_windows)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until_settled(bus, spec)
    await acknowledgements.unsubscribe()

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
