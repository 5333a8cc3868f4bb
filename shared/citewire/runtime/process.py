"""Runs any set of services in one process: `citewire-service gateway` or all five at once."""

import asyncio
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Any

import nats.errors
import structlog
import uvicorn
from faststream.nats import NatsBroker
from nats.aio.client import Client
from nats.aio.msg import Msg
from redis.asyncio import BlockingConnectionPool, Redis

from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.delivery import deliver
from citewire.runtime.health import health_app
from citewire.runtime.logging import configure_logging
from citewire.runtime.provision import provision
from citewire.runtime.pull import PullConsumer
from citewire.runtime.service import Bindings, HttpApp, Responder, Service, Wires, respond
from citewire.runtime.settings import ROLES, RuntimeSettings

# Requests of one kind that a process answers at once.
RESPONDER_WORKERS = 16
# Exit code of a process whose connection to NATS is closed for good (EX_SOFTWARE).
CONNECTION_LOST = 70

log = structlog.get_logger()


def load_service(role: str) -> Service:
    """The service of a role, built by its own factory."""
    factory: Callable[[], Service] = importlib.import_module(f"{role}.app").create_app
    return factory()


def main() -> None:
    """Run the roles named on the command line until a signal ends the process."""
    roles = sys.argv[1:]
    if unknown := [role for role in roles if role not in ROLES]:
        sys.exit(f"citewire-service: unknown role {unknown[0]}; roles are {', '.join(ROLES)}")
    run([load_service(role) for role in roles or ROLES])


def run(services: Sequence[Service], ready: Callable[[], None] = lambda: None) -> None:
    """Run services until SIGINT or SIGTERM; `ready` is called once they take work."""
    settings = RuntimeSettings()
    configure_logging(settings.log_level, settings.log_format)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(services, settings, ready))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop


async def serve(services: Sequence[Service], settings: RuntimeSettings, ready: Callable[[], None]) -> None:
    """Connect, provision, start services, take work until told to stop; then end in the opposite order."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with contextlib.AsyncExitStack() as stack:
        broker, wires = await stack.enter_async_context(connect(settings))
        bindings = [await stack.enter_async_context(service.start(wires)) for service in services]
        http = [binding.http for binding in bindings if binding.http] or _health_only(settings, wires)
        await stack.enter_async_context(_listen(http, settings.graceful_timeout))
        async with working(broker, wires.bus, bindings, settings.graceful_timeout):
            log.info("ready", services=[service.name for service in services])
            ready()
            await stop.wait()
            log.info("stopping")
            for app in http:
                app.drain()


@contextlib.asynccontextmanager
async def working(
    broker: NatsBroker, bus: Bus, bindings: Sequence[Bindings], graceful_timeout: float
) -> AsyncGenerator[None]:
    """Take work for started services until the block ends; then work in hand has `graceful_timeout` seconds."""
    consumers = _consumers(bus, bindings)
    for responder in (responder for binding in bindings for responder in binding.responders):
        _bind_responder(broker, responder)
    await broker.start()
    for consumer in consumers:
        await consumer.start()
    try:
        yield
    finally:
        await asyncio.gather(
            *(consumer.stop(graceful_timeout) for consumer in consumers),
            *(subscriber.stop() for subscriber in broker.subscribers),
        )


@contextlib.asynccontextmanager
async def connect(settings: RuntimeSettings) -> AsyncGenerator[tuple[NatsBroker, Wires]]:
    """The connections of a process, on provisioned streams, for as long as the block lasts."""
    stopping = asyncio.Event()

    async def on_closed() -> None:
        if not stopping.is_set():
            log.error("connection to NATS closed for good")
            os._exit(CONNECTION_LOST)

    broker = NatsBroker(
        settings.nats_url,
        apply_types=False,
        decoder=_raw,
        logger=None,
        graceful_timeout=settings.graceful_timeout,
        # A service without its bus is no use, so the connection is never given up …
        max_reconnect_attempts=-1,
        reconnect_time_wait=1,
        # … and should it close all the same, a supervisor can start a new process, a dead loop can't.
        closed_cb=on_closed,
        error_cb=_on_error,
    )
    client: Client = await broker.connect()
    redis = Redis.from_pool(
        BlockingConnectionPool.from_url(
            settings.redis_url,
            max_connections=64,
            decode_responses=True,
            # The answer log has its own time limit; redis-py's costs a task for each command.
            socket_timeout=None,
            socket_connect_timeout=5,
        )
    )
    try:
        bus = Bus(client, client.jetstream())
        await provision(bus.js, settings.max_replicas)
        yield broker, Wires(bus, redis, AnswerLog(redis))
    finally:
        await redis.aclose()
        stopping.set()
        await broker.stop()


async def _raw(message: Any) -> Msg:
    """Hand over the message as it came: `delivery` reads it, and decides about those that can't be read."""
    raw: Msg = message.raw_message
    return raw


async def _on_error(error: Exception) -> None:
    if not isinstance(error, nats.errors.TimeoutError):
        log.warning("NATS", error=repr(error))


def _consumers(bus: Bus, bindings: Sequence[Bindings]) -> list[PullConsumer]:
    return [
        PullConsumer(bus, consumer.spec, partial(deliver, bus, consumer))
        for binding in bindings
        for consumer in binding.consumers
    ]


def _bind_responder(broker: NatsBroker, responder: Responder[Any]) -> None:
    @broker.subscriber(responder.subject, queue="owners", max_workers=RESPONDER_WORKERS)
    async def answer(message: Msg) -> bytes:
        return await respond(responder, message)


def _health_only(settings: RuntimeSettings, wires: Wires) -> list[HttpApp]:
    if settings.health_port is None:
        return []
    return [HttpApp(health_app(wires), settings.health_host, settings.health_port, drain=lambda: None)]


@contextlib.asynccontextmanager
async def _listen(apps: Sequence[HttpApp], graceful_timeout: float) -> AsyncGenerator[None]:
    """Serve HTTP beside the consumers; uvicorn's own signal handling stays out of it."""
    servers = [_Server(_config(app, graceful_timeout)) for app in apps]
    tasks = [asyncio.create_task(server.serve()) for server in servers]
    try:
        await asyncio.gather(*(_until_started(server, task) for server, task in zip(servers, tasks, strict=True)))
        yield
    finally:
        for server in servers:
            server.should_exit = True
        await asyncio.gather(*tasks)


def _config(app: HttpApp, graceful_timeout: float) -> uvicorn.Config:
    return uvicorn.Config(
        app.app,
        host=app.host,
        port=app.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(graceful_timeout),
    )


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


async def _until_started(server: uvicorn.Server, task: "asyncio.Task[None]") -> None:
    while not server.started:
        if task.done():
            task.result()
            raise SystemExit(f"can't listen on {server.config.host}:{server.config.port}: choose another port")
        await asyncio.sleep(0.005)


if __name__ == "__main__":
    main()
