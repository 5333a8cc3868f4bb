"""The generator's stage in tests: writers and gatherers that follow a script, and what became of an answer."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid4

import orjson
from redis.asyncio import Redis

from builders import found, segment
from citewire.contracts.answers import DoneFrame, EntryKind
from citewire.contracts.events import InteractionFinished, RetrievalPlanned, SegmentsFound
from citewire.contracts.evidence import Source
from citewire.contracts.sessions import Interaction
from citewire.contracts.streams import OUTCOMES
from citewire.runtime.answer_log import AnswerLog, split_entry
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError
from generator.answer import Answering
from generator.changes import DocumentChanges
from generator.draft import Draft
from generator.extractive import ExtractiveWriter
from generator.run import Gathers, Parts, Writes
from generator.settings import Settings

QUESTION = "How much did revenue grow?"
SEGMENTS = (
    segment("Revenue grew by 12 percent.", doc="a"),
    segment("Revenue did not grow in the second half.", doc="b"),
    segment("How revenue will grow is not known.", doc="c"),
)
Step = str | Callable[[], Awaitable[object]]


class ScriptedGatherer:
    """Has found what the test says, at once."""

    def __init__(self, *results: SegmentsFound) -> None:
        self._results = results

    async def gather(
        self, question_id: UUID, kb_ids: Sequence[str], until: datetime, limits: Mapping[str, datetime]
    ) -> dict[str, SegmentsFound]:
        return {result.kb_id: result for result in self._results}


class HangingGatherer:
    """Never finds anything."""

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()

    async def gather(
        self, question_id: UUID, kb_ids: Sequence[str], until: datetime, limits: Mapping[str, datetime]
    ) -> dict[str, SegmentsFound]:
        self.is_asked.set()
        await asyncio.Event().wait()
        return {}


class ScriptedWriter:
    """Writes the pieces of its script, and does what stands between them."""

    def __init__(self, *script: Step) -> None:
        self._script = script
        self.is_closed = False

    async def write(self, plan: RetrievalPlanned, sources: Sequence[Source], draft: Draft) -> AsyncGenerator[str]:
        try:
            for step in self._script:
                if isinstance(step, str):
                    yield step
                    await asyncio.sleep(0)
                else:
                    await step()
        finally:
            self.is_closed = True


async def dies() -> None:
    """A step of a script that ends its worker."""
    raise TransientError("the worker dies here")


class DyingWriter(ExtractiveWriter):
    """Writes an extract up to a piece, and fails there."""

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces

    async def write(self, plan: RetrievalPlanned, sources: Sequence[Source], draft: Draft) -> AsyncGenerator[str]:
        left = self._pieces
        async for piece in super().write(plan, sources, draft):
            if not left:
                await dies()
            left -= 1
            yield piece


def answering(  # noqa: PLR0913, PLR0917 - the parts of the stage, each of which some test replaces
    bus: Bus,
    log: AnswerLog,
    writer: Writes,
    gatherer: Gathers | None = None,
    changes: DocumentChanges | None = None,
    continuing: Writes | None = None,
    evidence_tokens: Callable[[RetrievalPlanned], int] | None = None,
    **settings: float,
) -> Answering:
    gatherer = gatherer or ScriptedGatherer(found(uuid4(), "kb", *SEGMENTS))
    options = Settings.model_validate(settings)
    parts = Parts(
        bus,
        gatherer,
        writer,
        continuing or writer,
        evidence_tokens or (lambda _: options.tokens),
        changes or DocumentChanges(),
        options,
    )
    return Answering(log, parts)


async def entries(log: AnswerLog, plan: RetrievalPlanned) -> list[tuple[EntryKind, str]]:
    return [split_entry(entry) for entry in await log.read(plan.question_id, 0, 1_000_000)]


async def kinds(log: AnswerLog, plan: RetrievalPlanned) -> list[str]:
    return [str(kind) for kind, _ in await entries(log, plan)]


async def text_in(log: AnswerLog, plan: RetrievalPlanned) -> str:
    return "".join(orjson.loads(data)["text"] for kind, data in await entries(log, plan) if kind is EntryKind.DELTA)


async def end_of(log: AnswerLog, plan: RetrievalPlanned) -> DoneFrame:
    (end,) = [data for kind, data in await entries(log, plan) if kind is EntryKind.END]
    return DoneFrame.model_validate_json(end)


async def published(bus: Bus) -> int:
    return (await bus.js.stream_info(OUTCOMES)).state.messages


async def outcome_of(bus: Bus, plan: RetrievalPlanned) -> Interaction:
    message = await bus.js.get_last_msg(OUTCOMES, f"{InteractionFinished.subject}.{plan.asker}")
    event = InteractionFinished.model_validate_json(message.data or b"")
    assert event.question_id == plan.question_id
    return event.interaction


async def lose_log(redis: Redis, plan: RetrievalPlanned) -> None:
    await redis.delete(*[key async for key in redis.scan_iter(match=f"*{plan.question_id}*")])
