"""A gateway's streams on a real Redis, with an answer that the test writes."""

from collections.abc import AsyncGenerator

import pytest
from redis.asyncio import Redis

from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from embedded.servers import ServerUrls
from gateway import hub as hub_module
from gateway import stream as stream_module
from stream_stage import Gateway, Store, Writer, new_writer, pooled_redis, running_gateway, running_store


@pytest.fixture
async def redis(servers: ServerUrls) -> AsyncGenerator[Redis]:
    async with pooled_redis(servers.redis) as redis:
        yield redis


@pytest.fixture
async def writer(answer_log: AnswerLog) -> Writer:
    return await new_writer(answer_log)


@pytest.fixture
async def gateway(redis: Redis, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Gateway]:
    """One that looks often."""
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 0.05)
    monkeypatch.setattr(hub_module, "TICK", 0.01)
    async with running_gateway(redis, bus) as gateway:
        yield gateway


@pytest.fixture
async def store(bus: Bus) -> AsyncGenerator[Store]:
    async with running_store(bus) as store:
        yield store
