"""The parts of the planner."""

import contextlib
from collections.abc import AsyncGenerator

from autoquery.handlers import Planner
from autoquery.settings import Settings
from citewire.contracts.events import QuestionAsked
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.streams import KB_BUCKET
from citewire.runtime.delivery import Consumer
from citewire.runtime.provision import PLANNER
from citewire.runtime.registry import watch
from citewire.runtime.service import Bindings, Service, Wires


def create_app() -> Service:
    """The service, not yet started."""
    settings = Settings()

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        async with watch(wires.bus.js, KB_BUCKET, KnowledgeBase) as kbs:
            planner = Planner(wires.bus, kbs, settings)
            yield Bindings(consumers=(Consumer(PLANNER, QuestionAsked, planner.plan_retrieval, planner.give_up),))

    return Service("autoquery", start)
