"""Keeps this process in step with Postgres: woken by the bus, and looking by itself every few seconds."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from citewire.contracts.events import DocumentIndexed, DocumentRemoved
from citewire.runtime.errors import TransientError
from retriever.backlog import EmbeddingBacklog
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.store.kbs import KbStore
from retriever.store.vectors import VectorStore

log = structlog.get_logger()


class Upkeep:
    """Indexes follow, the register is repaired, removed knowledge bases are deleted, the rest is embedded."""

    def __init__(  # noqa: PLR0913, PLR0917 - one part each
        self,
        kbs: KbStore,
        vectors: VectorStore,
        register: Register,
        indexes: IndexFollower,
        backlog: EmbeddingBacklog,
        interval: float,
        pool: str,
    ) -> None:
        self._kbs = kbs
        self._vectors = vectors
        self._register = register
        self._indexes = indexes
        self._backlog = backlog
        self._interval = interval
        self._pool = pool
        self._announced = asyncio.Event()

    @contextlib.asynccontextmanager
    async def running(self, client: Client) -> AsyncGenerator[None]:
        """Catch up before the block begins, then again and again while it lasts."""
        await self._catch_up()
        announcements = [
            await client.subscribe(f"{event.subject}.*", cb=self._note) for event in (DocumentIndexed, DocumentRemoved)
        ]
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self._run())
            try:
                yield
            finally:
                running.cancel()
                for announcement in announcements:
                    await announcement.unsubscribe()

    async def _note(self, _: Msg) -> None:
        self._announced.set()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval):
                    await self._announced.wait()
            self._announced.clear()
            await self._catch_up()

    async def _catch_up(self) -> None:
        try:
            kbs = [stored for stored in await self._register.refresh() if stored.kb.pool == self._pool]
            for kb_id in self._indexes.behind(kbs):
                await self._follow(kb_id)
            self._backlog.look_at(kbs)
            await self._indexes.prune()
            await self._vectors.drop_orphaned()
            await self._kbs.purge()
        except TransientError as error:
            log.warning("could not catch up", reason=str(error))

    async def _follow(self, kb_id: str) -> None:
        """One index that can't follow must not keep the others from it."""
        try:
            await self._indexes.follow(kb_id)
        except TransientError as error:
            log.warning("an index could not follow", kb_id=kb_id, reason=str(error))
