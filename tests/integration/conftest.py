"""Real servers for the whole run, a fresh database and a clean bus for each test."""

import uuid
from collections.abc import AsyncGenerator, Iterator

import asyncpg
import nats
import pytest
from redis.asyncio import Redis

from citewire.contracts.streams import KEY_BUCKET, PROVIDER_BUCKET
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.provision import STREAMS, provision
from embedded.servers import EmbeddedServers, ServerUrls
from embedded.settings import EmbeddedSettings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/integration/" in str(item.path):
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerUrls]:
    settings = EmbeddedSettings(nats_url=None, redis_url=None, postgres_url=None)
    with EmbeddedServers(tmp_path_factory.mktemp("servers"), settings) as urls:
        yield urls


@pytest.fixture
async def database(servers: ServerUrls) -> AsyncGenerator[str]:
    """An empty database of the test's own."""
    name = f"test_{uuid.uuid4().hex}"
    admin = await asyncpg.connect(servers.postgres)
    await admin.execute(f'create database "{name}"')
    yield servers.postgres.rpartition("/")[0] + f"/{name}"
    await admin.execute(f'drop database "{name}" with (force)')
    await admin.close()


@pytest.fixture
async def bus(servers: ServerUrls) -> AsyncGenerator[Bus]:
    """A connection on provisioned, empty streams, without keys of users or settings of models."""
    client = await nats.connect(servers.nats)
    js = client.jetstream()
    await provision(js, max_replicas=1)
    for stream in STREAMS:
        await js.purge_stream(str(stream.name))
    for bucket in (KEY_BUCKET, PROVIDER_BUCKET):
        await js.purge_stream(f"KV_{bucket}")
    yield Bus(client, js)
    await client.close()


@pytest.fixture
async def redis(servers: ServerUrls) -> AsyncGenerator[Redis]:
    connection = Redis.from_url(servers.redis, decode_responses=True)
    yield connection
    await connection.aclose()


@pytest.fixture
def answer_log(redis: Redis) -> AnswerLog:
    return AnswerLog(redis)
