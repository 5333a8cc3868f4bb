"""The connections of a process: NATS, on provisioned streams, and Redis. Kept over restarts of both servers."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import Any

import nats.errors
import structlog
from faststream.nats import NatsBroker
from nats.aio.client import Client
from nats.aio.msg import Msg
from redis.asyncio import BlockingConnectionPool, Redis

from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.provision import provision
from citewire.runtime.service import Wires
from citewire.runtime.settings import RuntimeSettings

# Exit code of a process whose connection to NATS is closed for good (EX_SOFTWARE).
CONNECTION_LOST = 70
# Seconds before provisioning that failed is tried again: a server that starts does not serve its streams at once.
PROVISION_PAUSE = 0.25
# Seconds that a server may take to answer before a connection is closed without it.
FLUSH_LIMIT = 2
# Seconds between signs of life.
PING_INTERVAL = 10

log = structlog.get_logger()


@contextlib.asynccontextmanager
async def connect(settings: RuntimeSettings) -> AsyncGenerator[tuple[NatsBroker, Wires]]:
    """The connections of a process, on provisioned streams, for as long as the block lasts."""
    keeper = _Keeper(settings.max_replicas)
    broker = _broker(settings, keeper)
    client: Client = await broker.connect()
    redis = _redis(settings.redis_url)
    try:
        bus = await keeper.keep(client)
        yield broker, Wires(bus, redis, AnswerLog(redis))
    finally:
        await redis.aclose()
        await keeper.stop()
        await _close(broker, client)


async def _close(broker: NatsBroker, client: Client) -> None:
    """Close a connection once what was said is sent; a server that is away, or hangs, is not waited for."""
    with contextlib.suppress(nats.errors.Error, OSError):
        # The client's own draining has no limit that holds when nothing answers.
        await client.flush(FLUSH_LIMIT)
        await broker.stop()
    # A server that goes in this very moment breaks the last write.
    with contextlib.suppress(OSError):
        await client.close()


class _Keeper:
    """Brings the streams back whenever the connection to NATS does: those in memory are gone after a restart."""

    def __init__(self, max_replicas: int) -> None:
        self._max_replicas = max_replicas
        self._bus: Bus | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._is_stopping = False

    async def keep(self, client: Client) -> Bus:
        """The bus of a connection that has just been made."""
        bus = Bus(client, client.jetstream())
        await provision(bus.js, self._max_replicas)
        self._bus = bus
        return bus

    async def stop(self) -> None:
        """From now on the connection may close."""
        self._is_stopping = True
        await self._end_renewing()

    async def on_disconnected(self) -> None:
        await self._end_renewing()
        if self._bus is not None and not self._is_stopping:
            log.warning("connection to NATS lost")
            self._bus.lost()

    async def on_reconnected(self) -> None:
        # In a task of its own: the client reads nothing before this returns.
        if self._bus is not None and not self._is_stopping:
            self._renewing = asyncio.create_task(self._renew(self._bus))

    async def on_closed(self) -> None:
        if not self._is_stopping:
            log.error("connection to NATS closed for good")
            os._exit(CONNECTION_LOST)

    async def _renew(self, bus: Bus) -> None:
        while True:
            try:
                await provision(bus.js, self._max_replicas)
            except (nats.errors.Error, TimeoutError) as error:
                log.warning("NATS is not ready yet", error=repr(error))
                await asyncio.sleep(PROVISION_PAUSE)
            else:
                bus.renew()
                log.info("connected to NATS again")
                return

    async def _end_renewing(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])


def _broker(settings: RuntimeSettings, keeper: _Keeper) -> NatsBroker:
    return NatsBroker(
        settings.nats_url,
        inbox_prefix=settings.inbox_prefix,
        apply_types=False,
        decoder=_raw,
        logger=None,
        graceful_timeout=settings.graceful_timeout,
        # A service without its bus is no use, so the connection is never given up …
        max_reconnect_attempts=-1,
        reconnect_time_wait=1,
        # A server that is gone without a word is noticed after two of these.
        ping_interval=PING_INTERVAL,
        # … and should it close all the same, a supervisor can start a new process, a dead loop can't.
        closed_cb=keeper.on_closed,
        disconnected_cb=keeper.on_disconnected,
        reconnected_cb=keeper.on_reconnected,
        error_cb=_on_error,
    )


def _redis(url: str) -> Redis:
    return Redis.from_pool(
        BlockingConnectionPool.from_url(
            url,
            max_connections=64,
            decode_responses=True,
            # The answer log has its own time limit; redis-py's costs a task for each command.
            socket_timeout=None,
            socket_connect_timeout=5,
        )
    )


async def _raw(message: Any) -> Msg:
    """Hand over the message as it came: `delivery` reads it, and decides about those that can't be read."""
    raw: Msg = message.raw_message
    return raw


async def _on_error(error: Exception) -> None:
    if not isinstance(error, nats.errors.TimeoutError):
        log.warning("NATS", error=repr(error))
