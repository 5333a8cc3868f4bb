"""How messages are taken: our pull consumers on a real server, which are stopped, and one that is restarted."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from datetime import timedelta
from pathlib import Path

import nats
import pytest
from nats.js.api import StreamConfig

from citewire.runtime import provision
from citewire.runtime.bus import Bus
from citewire.runtime.provision import ConsumerSpec
from citewire.runtime.pull import HEARTBEAT
from embedded.servers import ServerUrls
from parcels import Parcel, Stage, consuming, own_stream, send, until_settled, waiting
from restartable import Restartable, restartable_nats
from waiting import until, until_found


@pytest.fixture
async def spec(bus: Bus) -> AsyncGenerator[ConsumerSpec]:
    async with own_stream(bus) as spec:
        yield spec


@pytest.fixture
def own_nats(tmp_path: Path) -> Iterator[Restartable]:
    with restartable_nats(tmp_path) as server:
        yield server


async def test_a_message_with_the_headers_of_a_status_is_a_message(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    stage = Stage()

    async with consuming(servers.nats, servers.redis, spec, stage):
        payload = Parcel(name="a").model_dump_json().encode()
        await bus.publish_raw(spec.subject, payload, "a", {"Status": "100", "Description": "Idle Heartbeat"})
        await until_settled(bus, spec)

    assert stage.handled == ["a"]


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
        await until(lambda: most >= spec.workers)
        # Time for one too many to come.
        await bus.client.flush()
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
    async def nothing_is_asked_for() -> bool:
        return not (await bus.js.consumer_info(spec.stream, spec.durable)).num_waiting

    async def wait_for_the_stop(_: Parcel) -> None:
        await until_found(nothing_is_asked_for)

    stage = Stage(wait_for_the_stop)
    async with consuming(servers.nats, servers.redis, spec, stage):
        await send(bus, spec, "a")
        await until(lambda: stage.tries == ["a"])

    assert stage.handled == ["a"]
    assert await waiting(bus, spec) == 0


async def test_work_that_takes_longer_than_the_grace_is_handed_back_at_once(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    async def never_end(_: Parcel) -> None:
        await asyncio.Event().wait()

    stage, heir = Stage(never_end), Stage()
    async with consuming(servers.nats, servers.redis, spec, stage, grace=0.1):
        await send(bus, spec, "a")
        await until(lambda: stage.tries == ["a"])
    async with consuming(servers.nats, servers.redis, spec, heir):
        # Long before the end of the acknowledgement window.
        await until(lambda: heir.handled == ["a"], seconds=5)

    assert stage.handled == []
    assert spec.ack_wait >= timedelta(seconds=20)


async def test_what_has_come_and_is_not_begun_is_handed_back_too(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    names = [str(number) for number in range(spec.workers * 3)]
    stage, heir = Stage(), Stage()
    async with consuming(servers.nats, servers.redis, spec, stage, grace=5):
        await send(bus, spec, *names)

    async with consuming(servers.nats, servers.redis, spec, heir):
        await until_settled(bus, spec)

    assert sorted(stage.handled + heir.handled) == sorted(names)


async def test_a_consumer_that_the_server_lacks_for_a_while_is_asked_for_calmly(
    servers: ServerUrls, bus: Bus, spec: ConsumerSpec
) -> None:
    stage = Stage()
    async with consuming(servers.nats, servers.redis, spec, stage) as consuming_bus:
        await bus.js.delete_consumer(spec.stream, spec.durable)
        before, since = consuming_bus.client.stats["out_msgs"], time.monotonic()
        await until(lambda: consuming_bus.client.stats["out_msgs"] >= before + 3)
        took = time.monotonic() - since

        await provision.put_consumers(bus.js, [spec], max_replicas=1)
        await send(bus, spec, "a")
        await until(lambda: stage.handled == ["a"])

    assert took > HEARTBEAT


async def test_a_consumer_goes_on_after_a_restart_and_nothing_spins_meanwhile(
    own_nats: Restartable, servers: ServerUrls
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
