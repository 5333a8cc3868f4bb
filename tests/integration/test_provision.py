"""Bringing a server to what the code says: from nothing, again, and after a change."""

import asyncio
from datetime import timedelta
from pathlib import Path

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.api import StorageType

from builders import planned
from citewire.contracts.streams import (
    BROWSER_BUCKET,
    KB_BUCKET,
    KEY_BUCKET,
    PLANS,
    QUESTIONS,
    SEGMENTS,
    UPLOAD_BUCKET,
)
from citewire.runtime.bus import Bus
from citewire.runtime.provision import (
    ANSWERER,
    CONSUMERS,
    MAX_WAITING_QUESTIONS,
    STREAMS,
    ConsumerSpec,
    provision,
)
from restartable import restartable_nats


async def settings_of(js: JetStreamContext) -> dict[str, object]:
    """All stream and consumer settings of the server."""
    streams = {str(stream.name): (await js.stream_info(str(stream.name))).config for stream in STREAMS}
    consumers = {spec.durable: (await js.consumer_info(spec.stream, spec.durable)).config for spec in CONSUMERS}
    return {**streams, **consumers}


async def test_everything_that_services_name_is_there(bus: Bus) -> None:
    for bucket in (KB_BUCKET, KEY_BUCKET, BROWSER_BUCKET):
        await bus.js.key_value(bucket)
    await bus.js.object_store(UPLOAD_BUCKET)

    assert len(await settings_of(bus.js)) == len(STREAMS) + len(CONSUMERS)


async def test_a_second_time_changes_nothing(bus: Bus) -> None:
    await bus.publish(planned("Why?", "kb"))
    before = await settings_of(bus.js)

    await provision(bus.js, max_replicas=1)

    assert await settings_of(bus.js) == before
    assert (await bus.js.stream_info(PLANS)).state.messages == 1


async def test_several_processes_may_do_it_at_once_on_a_new_server(tmp_path: Path) -> None:
    with restartable_nats(tmp_path) as server:
        clients = [await nats.connect(server.url) for _ in range(5)]

        await asyncio.gather(*(provision(client.jetstream(), max_replicas=1) for client in clients))

        assert len(await settings_of(clients[0].jetstream())) == len(STREAMS) + len(CONSUMERS)
        await asyncio.gather(*(client.close() for client in clients))


async def test_a_changed_stream_setting_is_applied(bus: Bus) -> None:
    config = (await bus.js.stream_info(QUESTIONS)).config
    await bus.js.update_stream(config.evolve(max_msgs=7))

    await provision(bus.js, max_replicas=1)

    assert (await bus.js.stream_info(QUESTIONS)).config.max_msgs == MAX_WAITING_QUESTIONS


async def test_a_changed_consumer_setting_is_applied_to_one_that_exists(bus: Bus) -> None:
    await provision(bus.js, max_replicas=3)

    config = (await bus.js.consumer_info(ANSWERER.stream, ANSWERER.durable)).config
    await provision(bus.js, max_replicas=1)

    assert config.max_ack_pending == 3 * ANSWERER.workers
    assert config.ack_wait == ANSWERER.ack_wait.total_seconds()


async def test_what_can_be_searched_again_is_kept_in_memory_alone(bus: Bus) -> None:
    storage = {str(stream.name): (await bus.js.stream_info(str(stream.name))).config.storage for stream in STREAMS}

    assert [name for name, kind in storage.items() if kind == StorageType.MEMORY] == [SEGMENTS]


@pytest.mark.parametrize("spec", CONSUMERS, ids=lambda spec: spec.durable)
async def test_the_server_never_parks_a_message_by_itself(bus: Bus, spec: ConsumerSpec) -> None:
    config = (await bus.js.consumer_info(spec.stream, spec.durable)).config

    assert config.max_deliver == -1
    assert spec.max_deliver > 1
    assert spec.ack_wait >= timedelta(seconds=15)
