"""The parts of the generator."""

import contextlib
from collections.abc import AsyncGenerator
from uuid import UUID

from nats.aio.msg import Msg

from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.streams import STOP_SUBJECT
from citewire.runtime.delivery import Consumer
from citewire.runtime.provision import ANSWERER
from citewire.runtime.service import Bindings, Service, Wires
from generator.answer import Answering, Writes
from generator.changes import DocumentChanges
from generator.extractive import ExtractiveWriter
from generator.gather import Gatherer
from generator.settings import Settings


def create_app(writer: Writes | None = None) -> Service:
    """The service, not yet started; `writer` makes the text, sentences of the evidence by default."""
    settings = Settings()

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        async with (
            Gatherer(wires.bus).listening() as gatherer,
            DocumentChanges().listening(wires.bus.client) as changes,
        ):
            answering = Answering(
                wires.bus, wires.answer_log, gatherer, writer or ExtractiveWriter(), changes, settings
            )

            async def stop(message: Msg) -> None:
                answering.stop(UUID(message.subject.rpartition(".")[2]))

            await wires.bus.client.subscribe(f"{STOP_SUBJECT}.*", cb=stop)
            yield Bindings(consumers=(Consumer(ANSWERER, RetrievalPlanned, answering.answer, answering.give_up),))

    return Service("generator", start)
