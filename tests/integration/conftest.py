"""Real servers for the whole run, a fresh database and a clean bus for each test."""

import contextlib
import uuid
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import asyncpg
import nats
import pytest
import pytest_asyncio
from redis.asyncio import Redis

from citewire.contracts.streams import KEY_BUCKET, PROVIDER_BUCKET
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.provision import STREAMS, provision
from embedded.servers import EmbeddedServers, ServerUrls
from embedded.settings import EmbeddedSettings
from retriever_stage import Stage, configure, running_retriever
from scripted_embeddings import ScriptedEmbeddings, scripted_embeddings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/integration/" in str(item.path):
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerUrls]:
    settings = EmbeddedSettings(nats_url=None, redis_url=None, postgres_url=None)
    with EmbeddedServers(tmp_path_factory.mktemp("servers"), settings) as urls:
        yield urls


@contextlib.asynccontextmanager
async def empty_database(servers: ServerUrls) -> AsyncGenerator[str]:
    name = f"test_{uuid.uuid4().hex}"
    admin = await asyncpg.connect(servers.postgres)
    await admin.execute(f'create database "{name}"')
    yield servers.postgres.rpartition("/")[0] + f"/{name}"
    await admin.execute(f'drop database "{name}" with (force)')
    await admin.close()


@contextlib.asynccontextmanager
async def clean_bus(servers: ServerUrls) -> AsyncGenerator[Bus]:
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
async def database(servers: ServerUrls) -> AsyncGenerator[str]:
    """An empty database of the test's own."""
    async with empty_database(servers) as database:
        yield database


@pytest.fixture
async def bus(servers: ServerUrls) -> AsyncGenerator[Bus]:
    """A connection on provisioned, empty streams, without keys of users or settings of models."""
    async with clean_bus(servers) as bus:
        yield bus


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def retriever_database(servers: ServerUrls) -> AsyncGenerator[str]:
    """The one of `retriever`."""
    async with empty_database(servers) as database:
        yield database


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def retriever(
    servers: ServerUrls, retriever_database: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Stage]:
    """One for all tests of a module that start none themselves: a start takes longer than most tests do."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        configure(monkeypatch, servers, retriever_database, tmp_path_factory.mktemp("retriever"))
        async with clean_bus(servers), running_retriever() as stage:
            yield stage


@pytest_asyncio.fixture(loop_scope="module")
async def stage(retriever: Stage) -> AsyncGenerator[Stage]:
    """The retriever of a module with the empty knowledge base `kb`, for tests that need no other."""
    await retriever.create_kb()
    yield retriever
    await retriever.clear()


@pytest.fixture
def retriever_settings(
    monkeypatch: pytest.MonkeyPatch, servers: ServerUrls, database: str, bus: Bus, tmp_path: Path
) -> None:
    """What a test's own retrievers take from the environment."""
    configure(monkeypatch, servers, database, tmp_path)


@pytest.fixture
def embeddings() -> Iterator[ScriptedEmbeddings]:
    """A server of vectors; a test sets up embedders at it."""
    with scripted_embeddings() as server:
        yield server


@pytest.fixture
async def redis(servers: ServerUrls) -> AsyncGenerator[Redis]:
    connection = Redis.from_url(servers.redis, decode_responses=True)
    yield connection
    await connection.aclose()


@pytest.fixture
def answer_log(redis: Redis) -> AnswerLog:
    return AnswerLog(redis)
