"""A gateway process that is told to end by a real SIGTERM, with streams open."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import httpx
import pytest
from httpx_sse import ServerSentEvent, aconnect_sse

from citewire.contracts.events import now
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from embedded.servers import ServerUrls
from restartable import free_port
from waiting import until, until_found

ADMIN_KEY = "key-of-the-test-" + "x" * 32
# Seconds between the first sign and the end of the streams: time for the test to look.
DRAIN_DELAY = 4


@dataclass
class Gateway:
    """The process and a client of it."""

    process: "subprocess.Popen[bytes]"
    client: httpx.AsyncClient

    async def status(self, path: str) -> int:
        return (await self.client.get(path)).status_code

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    async def code(self) -> int:
        await until(lambda: self.process.poll() is not None, seconds=20)
        return self.process.wait()


def start_gateway(servers: ServerUrls, port: int) -> "subprocess.Popen[bytes]":
    settings = {
        "CITEWIRE_NATS_URL": servers.nats,
        "CITEWIRE_REDIS_URL": servers.redis,
        "CITEWIRE_GATEWAY_PORT": str(port),
        "CITEWIRE_GATEWAY_FIRST_ADMIN_KEY": ADMIN_KEY,
        "CITEWIRE_DRAIN_DELAY": str(DRAIN_DELAY),
    }
    command = [sys.executable, "-m", "citewire.runtime.process", "gateway"]
    return subprocess.Popen(command, env={**os.environ, **settings})


@pytest.fixture
async def gateway(servers: ServerUrls, bus: Bus) -> AsyncGenerator[Gateway]:
    port = free_port()
    process = start_gateway(servers, port)
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30) as client:
        running = Gateway(process, client)

        async def is_ready() -> bool:
            assert process.poll() is None
            try:
                return await running.status("/readyz") == 200
            except httpx.ConnectError:
                return False

        await until_found(is_ready, seconds=40)
        yield running
    process.kill()
    process.wait()


@asynccontextmanager
async def open_stream(gateway: Gateway, answer_log: AnswerLog) -> AsyncGenerator["asyncio.Task[list[ServerSentEvent]]"]:
    """What a client gets of an answer that nobody writes, until its stream ends."""
    question_id = uuid4()
    user = (await gateway.client.get("/v1/me")).json()["user"]
    await answer_log.open(question_id, user, "fingerprint", now() + timedelta(minutes=2))
    connected = asyncio.Event()

    async def read() -> list[ServerSentEvent]:
        async with aconnect_sse(gateway.client, "GET", f"/v1/questions/{question_id}/events") as source:
            connected.set()
            return [event async for event in source.aiter_sse()]

    reading = asyncio.create_task(read())
    await asyncio.wait_for(connected.wait(), 10)
    yield reading
    reading.cancel()
    await answer_log.forget(question_id)


async def test_readiness_fails_first_and_then_streams_are_told_to_reconnect(
    gateway: Gateway, answer_log: AnswerLog
) -> None:
    async def is_unready() -> bool:
        return await gateway.status("/readyz") == 503

    async with open_stream(gateway, answer_log) as reading:
        gateway.terminate()
        await until_found(is_unready, seconds=DRAIN_DELAY)
        states = (await gateway.client.get("/readyz")).json()
        alive = await gateway.status("/healthz")
        was_cut = reading.done()
        events = await asyncio.wait_for(reading, 10)

    assert states["process"] == "draining"
    assert alive == 200
    assert not was_cut
    assert [event.event for event in events] == ["reconnect"]
    assert await gateway.code() == 0


async def test_a_question_is_refused_with_503_while_the_process_drains(gateway: Gateway) -> None:
    async def is_unready() -> bool:
        return await gateway.status("/readyz") == 503

    gateway.terminate()
    await until_found(is_unready, seconds=DRAIN_DELAY)
    response = await gateway.client.post("/v1/questions", json={"question": "Why?", "kb_ids": []})

    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) > 0


async def test_who_comes_back_after_the_reconnect_finds_the_port_closed(
    gateway: Gateway, answer_log: AnswerLog
) -> None:
    async with open_stream(gateway, answer_log) as reading:
        gateway.terminate()
        await asyncio.wait_for(reading, 10)

        async def is_closed() -> bool:
            try:
                await gateway.status("/healthz")
            except httpx.TransportError:
                return True
            return False

        await until_found(is_closed, seconds=2)
