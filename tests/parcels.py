"""A stage of tests' own: its event, what it does to each, and a process that consumes for it."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from nats.js.api import RetentionPolicy, StreamConfig
from pydantic import BaseModel

from citewire.contracts.streams import DEAD_LETTER_SUBJECT, DEAD_LETTERS
from citewire.runtime import connection, process, provision
from citewire.runtime.bus import Bus
from citewire.runtime.delivery import Consumer
from citewire.runtime.provision import ConsumerSpec
from citewire.runtime.service import Bindings
from citewire.runtime.settings import RuntimeSettings
from waiting import until_found


class Parcel(BaseModel):
    """The event of these tests."""

    name: str


@dataclass
class Stage:
    """A stage function that notes what it is given, and does to each parcel, and to who is told, what the test says."""

    act: Callable[[Parcel], Awaitable[None]] | None = None
    on_telling: Callable[[], Awaitable[None]] | None = None
    tries: list[str] = field(default_factory=list)
    handled: list[str] = field(default_factory=list)
    given_up: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, bytes, str]] = field(default_factory=list)

    async def handle(self, parcel: Parcel) -> None:
        self.tries.append(parcel.name)
        if self.act is not None:
            await self.act(parcel)
        self.handled.append(parcel.name)

    async def give_up(self, parcel: Parcel, reason: str) -> None:
        self.given_up.append((parcel.name, reason))
        if self.on_telling is not None:
            await self.on_telling()

    async def refuse(self, subject: str, data: bytes, reason: str) -> None:
        self.refused.append((subject, data, reason))
        if self.on_telling is not None:
            await self.on_telling()

    def consumer(self, spec: ConsumerSpec) -> Consumer[Parcel]:
        return Consumer(spec, Parcel, self.handle, self.give_up, self.refuse)


@contextlib.asynccontextmanager
async def own_stream(bus: Bus) -> AsyncGenerator[ConsumerSpec]:
    """A consumer on a stream of the test's own, both gone after it."""
    name = f"T{uuid4().hex[:12]}"
    await bus.js.add_stream(
        StreamConfig(name=name, subjects=[f"test.{name}"], retention=RetentionPolicy.WORK_QUEUE, max_age=600)
    )
    yield ConsumerSpec(f"c{name}", name, f"test.{name}", 4, timedelta(seconds=30), max_deliver=3)
    await bus.js.delete_stream(name)


@contextlib.asynccontextmanager
async def consuming(
    nats_url: str, redis_url: str, spec: ConsumerSpec, stage: Stage, grace: float = 5
) -> AsyncGenerator[Bus]:
    """A process that consumes, bound as `serve` binds it; at its end work in hand has `grace` seconds."""
    settings = RuntimeSettings(nats_url=nats_url, redis_url=redis_url, graceful_timeout=5)
    bindings = Bindings(consumers=(stage.consumer(spec),))
    async with connection.connect(settings) as (broker, wires):
        await provision.put_consumers(wires.bus.js, [spec], max_replicas=1)
        async with process.working(broker, wires.bus, [bindings], graceful_timeout=grace):
            yield wires.bus


async def send(bus: Bus, spec: ConsumerSpec, *names: str) -> None:
    for name in names:
        await bus.publish_raw(spec.subject, Parcel(name=name).model_dump_json().encode(), name)


async def waiting(bus: Bus, spec: ConsumerSpec) -> int:
    """Messages of the test's stream that are neither acknowledged nor set aside."""
    return (await bus.js.stream_info(spec.stream)).state.messages


async def until_settled(bus: Bus, spec: ConsumerSpec) -> None:
    async def is_empty() -> bool:
        return await waiting(bus, spec) == 0

    await until_found(is_empty)


async def dead_letters(bus: Bus, spec: ConsumerSpec) -> int:
    subject = f"{DEAD_LETTER_SUBJECT}.{spec.stream}.{spec.durable}"
    found = await bus.js.stream_info(DEAD_LETTERS, subjects_filter=subject)
    return (found.state.subjects or {}).get(subject, 0)


async def read_dead_letter(bus: Bus, spec: ConsumerSpec) -> tuple[bytes, dict[str, str]]:
    subject = f"{DEAD_LETTER_SUBJECT}.{spec.stream}.{spec.durable}"
    letters = await bus.js.subscribe(subject, stream=DEAD_LETTERS, ordered_consumer=True)
    message = await letters.next_msg(timeout=5)
    await letters.unsubscribe()
    return message.data, message.headers or {}
