"""Runs any set of services in one process: `citewire-service gateway` or all five at once."""

import asyncio
import contextlib
import importlib
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Any

import structlog
from faststream.nats import NatsBroker
from nats.aio.msg import Msg

from citewire.runtime.bus import Bus
from citewire.runtime.connection import connect
from citewire.runtime.dead_letters import retrying
from citewire.runtime.delivery import deliver
from citewire.runtime.garbage import spare_collections
from citewire.runtime.health import health_app
from citewire.runtime.listening import listening
from citewire.runtime.logging import configure_logging
from citewire.runtime.pull import PullConsumer
from citewire.runtime.service import Bindings, HttpApp, Responder, Service, Wires, fitting, respond
from citewire.runtime.settings import ROLES, RuntimeSettings

# Requests of one kind that a process answers at once.
RESPONDER_WORKERS = 16

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
        drain = await stack.enter_async_context(listening(http, settings.graceful_timeout))
        async with working(broker, wires.bus, bindings, settings.graceful_timeout):
            spare_collections()
            log.info("ready", services=[service.name for service in services])
            ready()
            await stop.wait()
            log.info("stopping")
            # Readiness fails first, so that whoever spreads requests looks elsewhere before streams are cut.
            wires.draining.set()
            await asyncio.sleep(settings.drain_delay)
            drain()


@contextlib.asynccontextmanager
async def working(
    broker: NatsBroker, bus: Bus, bindings: Sequence[Bindings], graceful_timeout: float
) -> AsyncGenerator[None]:
    """Take work for started services until the block ends; then work in hand has `graceful_timeout` seconds."""
    consumers = [consumer for binding in bindings for consumer in binding.consumers]
    pulling = [PullConsumer(bus, consumer.spec, partial(deliver, bus, consumer)) for consumer in consumers]
    async with retrying(bus, consumers) as retriers:
        for responder in (*retriers, *(responder for binding in bindings for responder in binding.responders)):
            _bind_responder(broker, bus, responder)
        await broker.start()
        for puller in pulling:
            await puller.start()
        try:
            yield
        finally:
            await asyncio.gather(*(puller.stop(graceful_timeout) for puller in pulling))
            # Last: work in hand may still ask this process' own services.
            await asyncio.gather(*(subscriber.stop() for subscriber in broker.subscribers))


def _bind_responder(broker: NatsBroker, bus: Bus, responder: Responder[Any]) -> None:
    @broker.subscriber(responder.subject, queue="owners", max_workers=RESPONDER_WORKERS)
    async def answer(message: Msg) -> bytes:
        return fitting(await respond(responder, message), bus.max_payload)


def _health_only(settings: RuntimeSettings, wires: Wires) -> list[HttpApp]:
    if settings.health_port is None:
        return []
    return [HttpApp(health_app(wires), settings.health_host, settings.health_port, drain=lambda: None)]


if __name__ == "__main__":
    main()
