"""All knowledge bases of a question are searched at the same time."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from citewire.contracts.events import RetrievalRequested
from citewire.runtime.bus import Bus
from citewire.runtime.delivery import Consumer, deliver
from citewire.runtime.provision import SEARCHER
from citewire.runtime.pull import PullConsumer

KBS = 30


async def test_b14_thirty_knowledge_bases_take_the_time_of_the_slowest(bus: Bus) -> None:
    all_at_work = asyncio.Barrier(KBS)
    done: set[str] = set()

    async def search_that_waits_for_the_others(event: RetrievalRequested) -> None:
        await all_at_work.wait()
        done.add(event.kb_id)

    consumer = Consumer(SEARCHER, RetrievalRequested, search_that_waits_for_the_others)
    pulling = PullConsumer(bus, SEARCHER, lambda message: deliver(bus, consumer, message))
    await pulling.start()
    question, deadline = uuid4(), datetime.now(UTC) + timedelta(seconds=30)
    for number in range(KBS):
        await bus.publish(
            RetrievalRequested(question_id=question, deadline=deadline, kb_id=f"kb-{number}", queries=(), top_k=8)
        )

    async with asyncio.timeout(20):
        while len(done) < KBS:
            await asyncio.sleep(0.01)
    await pulling.stop(5)

    assert len(done) == KBS
