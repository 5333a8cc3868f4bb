"""What a process does when its NATS server is started again: in the same folder, or in an empty one."""

import asyncio
import contextlib
import shutil
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from uuid import uuid4

import nats
import pytest
from faststream.nats import NatsBroker
from nats.aio.client import Client

from builders import found
from citewire.contracts.events import SegmentsFound
from citewire.contracts.problems import FieldError
from citewire.contracts.requests import GetInteraction
from citewire.contracts.streams import KEY_BUCKET, SEGMENTS
from citewire.runtime import bus as runtime_bus
from citewire.runtime.bus import Bus
from citewire.runtime.connection import connect
from citewire.runtime.errors import TransientError
from citewire.runtime.health import readiness
from citewire.runtime.provision import CONSUMERS, STREAMS
from citewire.runtime.registry import watch
from citewire.runtime.service import Wires
from citewire.runtime.settings import RuntimeSettings
from embedded.servers import ServerUrls
from restartable import Restartable, restartable_nats
from waiting import until


@pytest.fixture
def own_nats(tmp_path: Path) -> Iterator[Restartable]:
    with restartable_nats(tmp_path) as server:
        yield server


@pytest.fixture
async def connected(own_nats: Restartable, servers: ServerUrls) -> AsyncGenerator[tuple[NatsBroker, Wires]]:
    settings = RuntimeSettings(nats_url=own_nats.url, redis_url=servers.redis)
    async with connect(settings) as (broker, wires):
        yield broker, wires


@pytest.fixture
def wired(connected: tuple[NatsBroker, Wires]) -> Bus:
    return connected[1].bus


@contextlib.asynccontextmanager
async def plain_client(server: Restartable) -> AsyncGenerator[Client]:
    client = await nats.connect(server.url)
    yield client
    await client.close()


def entry(text: str) -> FieldError:
    return FieldError(field=text, message="")


async def test_streams_in_memory_come_back_after_a_restart(own_nats: Restartable, wired: Bus) -> None:
    renewal = wired.renewal

    await asyncio.to_thread(own_nats.restart)
    await asyncio.wait_for(renewal.wait(), 5)

    assert (await wired.js.stream_info(SEGMENTS)).state.messages == 0


async def test_a_server_that_lost_everything_is_provisioned_anew(
    own_nats: Restartable, wired: Bus, tmp_path: Path
) -> None:
    renewal = wired.renewal

    own_nats.kill()
    shutil.rmtree(tmp_path / "nats")
    await asyncio.to_thread(own_nats.start)
    await asyncio.wait_for(renewal.wait(), 5)

    for stream in STREAMS:
        await wired.js.stream_info(str(stream.name))
    for spec in CONSUMERS:
        await wired.js.consumer_info(spec.stream, spec.durable)


async def test_a_fact_published_while_the_server_is_away_is_stored_once_it_is_back(
    own_nats: Restartable, wired: Bus
) -> None:
    listener = await wired.client.subscribe(f"{SegmentsFound.subject}.>")
    own_nats.kill()
    await until(lambda: not wired.client.is_connected)

    publishing = asyncio.create_task(wired.publish(found(uuid4(), "kb")))
    await asyncio.to_thread(own_nats.start)
    back_at = time.monotonic()
    await publishing

    # A listener hides from the server's "no responders" that the stream is gone: waiting would last until the limit.
    assert time.monotonic() - back_at < 4
    assert (await wired.js.stream_info(SEGMENTS)).state.messages == 1
    await listener.unsubscribe()


async def test_a_publication_whose_acknowledgement_was_lost_with_the_server_is_repeated_at_once(
    own_nats: Restartable, wired: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_bus, "PUBLISH_TIMEOUT", 60.0)
    own_nats.pause()
    publishing = asyncio.create_task(wired.publish(found(uuid4(), "kb")))
    await until(lambda: bool(wired._acknowledgements._waiting))

    await asyncio.to_thread(own_nats.restart)
    await asyncio.wait_for(publishing, 10)

    assert (await wired.js.stream_info(SEGMENTS)).state.messages == 1


async def test_a_publication_fails_for_now_when_the_server_stays_away(
    own_nats: Restartable, wired: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_bus, "PUBLISH_TIMEOUT", 0.05)
    own_nats.kill()
    await until(lambda: not wired.client.is_connected)

    with pytest.raises(TransientError):
        await wired.publish(found(uuid4(), "kb"))


async def test_who_has_asked_hears_at_once_that_the_server_is_gone(own_nats: Restartable, wired: Bus) -> None:
    silent = await wired.client.subscribe(GetInteraction.subject)
    asking = asyncio.create_task(wired.ask(GetInteraction(question_id=uuid4(), user_id="u"), timeout=60))
    await silent.next_msg(5)

    own_nats.kill()

    with pytest.raises(TransientError):
        await asyncio.wait_for(asking, 5)


async def test_a_process_is_not_ready_while_its_server_is_away(
    own_nats: Restartable, connected: tuple[NatsBroker, Wires]
) -> None:
    _, wires = connected
    before = await readiness(wires)
    own_nats.kill()
    await until(lambda: not wires.bus.client.is_connected)

    away = await readiness(wires)

    assert before == {"process": "ok", "nats": "ok", "redis": "ok"}
    assert away["nats"] != "ok"


async def test_a_registry_is_current_soon_after_a_restart(own_nats: Restartable, wired: Bus) -> None:
    async with watch(wired, KEY_BUCKET, FieldError) as registry:
        await registry.put("kept", entry("kept"))
        await registry.put("changed", entry("before"))
        await registry.wait_for("changed", present=True)

        await asyncio.to_thread(own_nats.restart)
        async with plain_client(own_nats) as other:
            bucket = await other.jetstream().key_value(KEY_BUCKET)
            await bucket.put("changed", entry("after").model_dump_json().encode())
            await bucket.put("new", entry("new").model_dump_json().encode())

        await registry.wait_until(lambda entries: "new" in entries and entries["changed"] == entry("after"), 3)
        assert set(registry.entries) == {"kept", "changed", "new"}


async def test_a_registry_forgets_what_the_server_lost(own_nats: Restartable, wired: Bus, tmp_path: Path) -> None:
    async with watch(wired, KEY_BUCKET, FieldError) as registry:
        await registry.put("lost", entry("x"))
        await registry.wait_for("lost", present=True)

        own_nats.kill()
        shutil.rmtree(tmp_path / "nats")
        await asyncio.to_thread(own_nats.start)

        await registry.wait_for("lost", present=False, timeout=5)


async def test_a_registry_follows_over_several_restarts(own_nats: Restartable, wired: Bus) -> None:
    async with watch(wired, KEY_BUCKET, FieldError) as registry:
        for number in range(3):
            renewal = wired.renewal
            await asyncio.to_thread(own_nats.restart)
            await asyncio.wait_for(renewal.wait(), 5)

            await registry.put(f"key{number}", entry("x"))
            await registry.wait_for(f"key{number}", present=True)


async def test_a_process_ends_in_time_although_its_server_is_away(own_nats: Restartable, servers: ServerUrls) -> None:
    settings = RuntimeSettings(nats_url=own_nats.url, redis_url=servers.redis)
    async with asyncio.timeout(None) as limit, connect(settings) as (_, wires):
        own_nats.kill()
        await until(lambda: not wires.bus.client.is_connected)
        limit.reschedule(asyncio.get_running_loop().time() + 10)

    assert wires.bus.client.is_closed


async def test_a_process_ends_in_time_although_its_server_hangs(own_nats: Restartable, servers: ServerUrls) -> None:
    settings = RuntimeSettings(nats_url=own_nats.url, redis_url=servers.redis)
    async with asyncio.timeout(None) as limit, connect(settings) as (_, wires):
        own_nats.pause()
        limit.reschedule(asyncio.get_running_loop().time() + 10)

    assert wires.bus.client.is_closed
