"""The parts of the generator."""

import contextlib
from collections.abc import AsyncGenerator
from uuid import UUID

from nats.aio.msg import Msg

from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.providers import Purpose
from citewire.contracts.streams import STOP_SUBJECT
from citewire.runtime.delivery import Consumer, delivery_count
from citewire.runtime.providers import open_providers
from citewire.runtime.provision import ANSWERER
from citewire.runtime.service import Bindings, Service, Wires
from generator.answer import Answering
from generator.changes import DocumentChanges
from generator.extractive import ExtractiveWriter
from generator.gather import Gatherer
from generator.model_writer import ModelWriter
from generator.run import Parts, Writes
from generator.settings import Settings


def create_app(writer: Writes | None = None) -> Service:
    """The service, not yet started; `writer` makes the text, by default a model where one is configured."""
    settings = Settings()

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        async with (
            Gatherer(wires.bus).listening() as gatherer,
            DocumentChanges().listening(wires.bus.client) as changes,
            open_providers(wires.bus, [Purpose.ASK]) as providers,
        ):
            extractive = ExtractiveWriter()
            by_model = ModelWriter(providers, extractive, settings.tokens)
            parts = Parts(
                wires.bus,
                gatherer,
                writer or by_model,
                writer or extractive,
                by_model.evidence_tokens,
                changes,
                settings,
            )
            answering = Answering(wires.answer_log, parts)

            async def answer(plan: RetrievalPlanned) -> None:
                await answering.answer(plan, is_first=delivery_count.get() == 1)

            async def stop(message: Msg) -> None:
                asker, question_id = message.subject.split(".")[-2:]
                with contextlib.suppress(ValueError):  # no question has such an id
                    answering.stop(asker, UUID(question_id))

            await wires.bus.client.subscribe(f"{STOP_SUBJECT}.*.*", cb=stop)
            yield Bindings(consumers=(Consumer(ANSWERER, RetrievalPlanned, answer, answering.give_up),))

    return Service("generator", start)
