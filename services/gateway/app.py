"""The parts of the gateway."""

import contextlib
from collections.abc import AsyncGenerator
from importlib.metadata import version

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from citewire.contracts.identity import ApiKey, BrowserSession
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.streams import BROWSER_BUCKET, KB_BUCKET, KEY_BUCKET
from citewire.runtime.registry import watch
from citewire.runtime.service import Bindings, HttpApp, Service, Wires
from gateway.accept import Accepting
from gateway.hub import Hub
from gateway.identity import Identities
from gateway.limits import BodyLimit
from gateway.marks import Marks
from gateway.parts import Parts
from gateway.problems import install_problem_handlers
from gateway.routes import access, kbs, operations, page, questions, sessions
from gateway.settings import Settings
from gateway.stream import AnswerStreams


def create_app() -> Service:
    """The service, not yet started."""
    settings = Settings()

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        js = wires.bus.js
        async with (
            watch(js, KB_BUCKET, KnowledgeBase) as kb_registry,
            watch(js, KEY_BUCKET, ApiKey) as keys,
            watch(js, BROWSER_BUCKET, BrowserSession) as browsers,
            Hub(wires.redis).running() as hub,
        ):
            identities = Identities(keys, browsers, settings)
            await identities.ensure_administrator(settings.first_admin_key.get_secret_value())
            marks = Marks(wires.bus, kb_registry.entries)
            streams = AnswerStreams(wires.answer_log, hub, wires.bus, marks, settings)
            app = create_http(
                Parts(
                    settings=settings,
                    wires=wires,
                    kbs=kb_registry,
                    identities=identities,
                    streams=streams,
                    accepting=Accepting(wires.bus, wires.answer_log, kb_registry, streams, settings.asker),
                )
            )
            yield Bindings(http=HttpApp(app, settings.host, settings.port, streams.drain))

    return Service("gateway", start)


def create_http(parts: Parts) -> FastAPI:
    """The HTTP application."""
    # The documentation page with its scripts from here, not from somebody's network.
    app = FastAPIOffline(title="citewire", version=version("citewire"), redoc_url=None)
    app.state.parts = parts
    app.add_middleware(BodyLimit, settings=parts.settings)
    install_problem_handlers(app)
    for module in (questions, sessions, kbs, access, operations, page):
        app.include_router(module.router)
    app.mount("/assets", page.Assets(directory=page.WEB))
    return app
