"""The parts of the gateway."""

import contextlib
from collections.abc import AsyncGenerator
from importlib.metadata import version

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from citewire.contracts.identity import ApiKey, BrowserSession
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.streams import BROWSER_BUCKET, KB_BUCKET, KEY_BUCKET
from citewire.runtime.admission import Admission, Limits
from citewire.runtime.providers import open_providers
from citewire.runtime.registry import watch
from citewire.runtime.service import Bindings, HttpApp, Service, Wires
from gateway.accept import Accepting
from gateway.connection import Connection
from gateway.disconnects import Disconnects
from gateway.hub import Hub
from gateway.identity import Identities
from gateway.limits import BodyLimit
from gateway.marks import Marks
from gateway.parts import Parts
from gateway.pressure import Pressure
from gateway.problems import install_problem_handlers
from gateway.routes import access, dead_letters, kbs, model_settings, operations, page, questions, sessions
from gateway.settings import Settings
from gateway.stop import Stops
from gateway.stream import AnswerStreams, Record


def create_app() -> Service:
    """The service, not yet started."""
    settings = Settings()

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        stops = Stops(wires.bus, wires.answer_log, settings.asker)
        async with (
            watch(wires.bus, KB_BUCKET, KnowledgeBase) as kb_registry,
            watch(wires.bus, KEY_BUCKET, ApiKey) as keys,
            watch(wires.bus, BROWSER_BUCKET, BrowserSession) as browsers,
            open_providers(wires.bus, purposes=()) as providers,
            Hub(wires.redis).running() as hub,
            Disconnects(wires.answer_log, hub, stops).running() as disconnects,
            Pressure(wires.bus.js, hub, wires.draining, settings).sampling() as pressure,
        ):
            identities = Identities(keys, browsers, settings)
            await identities.ensure_administrator(settings.first_admin_key.get_secret_value())
            record = Record(wires.bus, Marks(wires.bus, kb_registry.entries))
            streams = AnswerStreams(wires.answer_log, hub, record, disconnects, settings)
            limits = Limits(settings.questions_per_minute, settings.questions_burst, settings.running_per_user)
            admission = Admission(wires.redis, wires.answer_log, limits)
            app = create_http(
                Parts(
                    settings=settings,
                    wires=wires,
                    kbs=kb_registry,
                    providers=providers,
                    identities=identities,
                    streams=streams,
                    stops=stops,
                    accepting=Accepting(
                        wires.bus, wires.answer_log, kb_registry, admission, pressure, providers, settings.asker
                    ),
                )
            )
            yield Bindings(http=HttpApp(app, settings.host, settings.port, streams.drain, Connection))

    return Service("gateway", start)


def create_http(parts: Parts) -> FastAPI:
    """The HTTP application."""
    # The documentation page with its scripts from here, not from somebody's network.
    app = FastAPIOffline(title="citewire", version=version("citewire"), redoc_url=None)
    app.state.parts = parts
    app.add_middleware(BodyLimit, settings=parts.settings)
    install_problem_handlers(app)
    for module in (questions, sessions, kbs, access, model_settings, dead_letters, operations, page):
        app.include_router(module.router)
    app.mount("/assets", page.Assets(directory=page.WEB))
    return app
