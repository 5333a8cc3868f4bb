"""The parts of the planner."""

import contextlib
from collections.abc import AsyncGenerator

from autoquery.handlers import Planner
from autoquery.settings import Settings
from autoquery.standing import Standings
from autoquery.stops import Stops
from citewire.contracts.events import QuestionAsked
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.providers import Purpose
from citewire.contracts.streams import KB_BUCKET, STOP_SUBJECT
from citewire.runtime.admission import Admission, Limits
from citewire.runtime.delivery import Consumer
from citewire.runtime.providers import open_providers
from citewire.runtime.provision import PLANNER
from citewire.runtime.registry import watch
from citewire.runtime.service import Bindings, Service, Wires
from citewire.runtime.settings import RuntimeSettings


def create_app() -> Service:
    """The service, not yet started."""
    settings, trusted = Settings(), RuntimeSettings().trusted_askers
    limits = Limits(settings.questions_per_minute, settings.questions_at_once, settings.running_per_service)

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        async with (
            watch(wires.bus, KB_BUCKET, KnowledgeBase) as kbs,
            open_providers(wires.bus, [Purpose.REWRITE]) as providers,
        ):
            stops = Stops(wires.answer_log, trusted)
            planner = Planner(
                wires.bus,
                kbs,
                Standings(wires.bus, wires.answer_log),
                stops,
                Admission(wires.redis, wires.answer_log, limits),
                providers,
                settings,
                trusted,
            )
            # One process notes a stop; whichever plans the question hears of it.
            await wires.bus.client.subscribe(f"{STOP_SUBJECT}.*.*", queue="autoquery", cb=stops.take)
            await wires.bus.client.subscribe(f"{STOP_SUBJECT}.*.*", cb=stops.interrupt)
            yield Bindings(
                consumers=(Consumer(PLANNER, QuestionAsked, planner.plan_retrieval, planner.give_up, planner.refuse),)
            )

    return Service("autoquery", start)
