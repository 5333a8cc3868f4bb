"""What can go wrong, one method each; each waits until answers are being written, so that it hits them."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator

from redis.asyncio import Redis

from chaos.cluster import Cluster, Worker
from chaos.load import Load
from chaos.report import Injected, Report
from chaos.tap import Tap
from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected, RetrievalPlanned
from citewire.contracts.knowledge import DEFAULT_POOL
from citewire.contracts.streams import QUESTIONS
from citewire.runtime.provision import ANSWERER
from citewire.runtime.settings import ROLES
from restartable import Restartable
from waiting import until

# Answers that are being written when a fault strikes.
VICTIMS = 2
RECOVERY_LIMIT = 40.0
# What a killed process leaves behind must end by itself within so many seconds.
ORPHANS_LIMIT = 15.0
POISON = b"{bad"
POISONED = (
    f"{QuestionAsked.subject}.shop",
    RetrievalPlanned.subject,
    f"qa.v1.retrieval.requested.{DEFAULT_POOL}.north",
    f"{InteractionFinished.subject}.shop",
    f"{QuestionRejected.subject}.shop",
)
STOP_LIMIT = 1.0


class Faults:
    """Strikes a cluster under load and notes in the report how it took it."""

    def __init__(self, cluster: Cluster, load: Load, tap: Tap, report: Report) -> None:
        self._cluster = cluster
        self._load = load
        self._tap = tap
        self._report = report

    async def kill_worker(self, worker: Worker) -> None:
        """SIGKILL, and a new process in its place."""
        async with self._struck(f"kill -9 {worker.role}"):
            await self.kill_at_once(worker)

    async def kill_at_once(self, worker: Worker) -> None:
        """The same without waiting for answers before or after."""
        orphans = await asyncio.to_thread(worker.kill)
        await asyncio.to_thread(worker.revive)
        try:
            await until(lambda: not any(orphan.is_running() for orphan in orphans), ORPHANS_LIMIT)
        except TimeoutError:
            self._report.violations.append(f"{worker.name} left {orphans} behind")

    async def kill_writer(self) -> None:
        """SIGKILL of a generator: what it wrote goes on elsewhere within the lease limit and two seconds."""
        worker, victims = self._cluster.of("generator")[0], []
        async with self._struck("kill -9 generator"):
            victims = self._load.writing
            at = time.monotonic()
            await self.kill_at_once(worker)
        await until(lambda: all(victim.end for victim in victims), RECOVERY_LIMIT)
        silent = [end - at for victim in victims for begin, end in victim.silences if begin <= at + 1 < end]
        limit = ANSWERER.ack_wait.total_seconds() + 2
        self._report.measure("a dead generator's answer goes on after", max(silent, default=0.0), limit)

    async def roll(self) -> None:
        """Every worker ends by SIGTERM and comes back, one of a role after the other, as an update does it."""

        async def roll_role(role: str) -> None:
            for worker in self._cluster.of(role):
                await asyncio.to_thread(worker.terminate)
                await asyncio.to_thread(worker.revive)

        async with self._struck("rolling restart of all roles"):
            await asyncio.gather(*map(roll_role, ROLES))

    async def restart(self, name: str, server: Restartable, away: float) -> None:
        """SIGKILL of a server, which comes back after so many seconds."""
        async with self._struck(f"kill -9 and restart {name}"):
            await asyncio.to_thread(server.restart, away)

    async def empty_redis(self) -> None:
        """Every answer's log is lost, the server stays."""
        async with self._struck("FLUSHALL"), Redis.from_url(self._cluster.servers.redis.url) as redis:
            await redis.flushall()

    async def pause_writer(self) -> None:
        """A generator sleeps beyond its window, wakes up, and is fenced off."""
        worker = self._cluster.of("generator")[1]
        async with self._struck("SIGSTOP generator beyond its window, SIGCONT"):
            worker.pause()
            await asyncio.sleep(ANSWERER.ack_wait.total_seconds() + 3)
            worker.resume()

    async def cut_clients(self) -> None:
        """All clients lose their connections at once."""
        async with self._struck("cut all clients"):
            self._load.cut()

    async def publish_twice(self) -> None:
        """What was published of late comes again, under ids that the streams don't know; and outcomes that lie."""
        async with self._struck("publish duplicates and late outcomes"):
            for messages in list(self._tap.newest.values()):
                for message in list(messages)[-10:]:
                    await self._tap.publish(message.subject, message.data)
            for message in list(self._tap.newest[InteractionFinished.subject])[:10]:
                await self._publish_lie(InteractionFinished.model_validate_json(message.data))

    async def _publish_lie(self, event: InteractionFinished) -> None:
        told = {asked.id for asked in self._load.accepted if asked.data.get("persisted")}
        if event.question_id not in told:
            return
        response = event.interaction.model_response.model_copy(update={"content": "a late lie"})
        lie = event.interaction.model_copy(update={"model_response": response})
        late = event.model_copy(update={"interaction": lie})
        await self._tap.publish(late.full_subject, late.model_dump_json().encode())

    async def poison(self) -> None:
        """Messages that nobody can read, on every stream of questions."""
        async with self._struck("publish poison"):
            for subject in POISONED:
                await self._tap.publish(subject, POISON)

    async def fill_stream(self) -> None:
        """The stream of questions takes no more, since nobody records them: new ones are refused, and asked again."""
        info = await self._tap.js.stream_info(QUESTIONS)
        full = info.config.evolve(max_msgs=info.state.messages + 2)
        refused = sum(asked.refused for asked in self._load.asked)
        async with self._struck("fill the stream of questions"):
            for worker in self._cluster.of("persister"):
                worker.pause()
            try:
                await self._tap.js.update_stream(full)
                await until(lambda: sum(asked.refused for asked in self._load.asked) > refused, RECOVERY_LIMIT)
            finally:
                for worker in self._cluster.of("persister"):
                    worker.resume()
                await self._tap.js.update_stream(info.config)

    async def stop_answer(self) -> None:
        """Not a fault but a measurement: a stop by the other gateway ends the answer within a second."""
        asked = self._load.new()
        following = asyncio.create_task(self._load.follow(asked, first=0))
        await until(lambda: asked.is_writing, RECOVERY_LIMIT)
        at = time.monotonic()
        await self._load.stop(asked, gateway=1)
        await following
        self._report.measure("a stop takes effect within", asked.ended_at - at, STOP_LIMIT)
        if asked.status != "stopped":
            self._report.violations.append(f"{asked.id} was stopped and is {asked.status}")

    def note(self, name: str) -> None:
        """Put a fault into the report whose recovery is not waited for."""
        self._report.faults.append(Injected(name, time.monotonic(), None))

    @contextlib.asynccontextmanager
    async def _struck(self, name: str) -> AsyncGenerator[None]:
        """Wait for victims, strike, and wait until a question that was asked afterwards is being answered."""
        await until(lambda: len(self._load.writing) >= VICTIMS, RECOVERY_LIMIT)
        struck = time.monotonic()
        yield
        over = time.monotonic()
        try:
            await until(lambda: self._is_answered_since(over), RECOVERY_LIMIT)
        except TimeoutError:
            self._report.violations.append(f"{name}: nothing was answered within {RECOVERY_LIMIT:.0f} s")
        self._report.faults.append(Injected(name, struck, time.monotonic() - over))

    def _is_answered_since(self, moment: float) -> bool:
        return any(asked.accepted_at > moment and asked.text for asked in self._load.asked)
