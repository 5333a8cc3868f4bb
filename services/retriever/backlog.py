"""Embeds what has no vector yet: documents are searchable by their words at once, by their vectors a little later."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable

import structlog

from citewire.contracts.knowledge import NO_EMBEDDER
from citewire.runtime.database import Database
from citewire.runtime.errors import PermanentError, TransientError
from retriever.embedding.embedder import Embedder, EmbedderUnavailable
from retriever.embedding.embedders import Embedders
from retriever.store.kbs import StoredKb
from retriever.store.vectors import EXACT_ROWS, MAX_DIMENSION, Space, VectorStore

log = structlog.get_logger()

# Chunks that are embedded and stored in one step: a few seconds of work, lost when the process dies.
_BATCH = 64
# Batches of one knowledge base before another one has its turn.
_TURN = 8


class EmbeddingBacklog:
    """One replica at a time embeds a knowledge base; state is in Postgres alone, so any may go on at any time."""

    def __init__(self, database: Database, vectors: VectorStore, embedders: Embedders, interval: float) -> None:
        self._database = database
        self._vectors = vectors
        self._embedders = embedders
        self._interval = interval
        self._kbs: list[StoredKb] = []
        self._announced = asyncio.Event()
        self._reasons: dict[str, str] = {}
        self._awake: set[str] = set()
        # Spaces that have grown large enough for an index.
        self._large: asyncio.Queue[Space] = asyncio.Queue()

    def reason(self, kb_id: str) -> str | None:
        """What keeps this process from embedding a knowledge base."""
        return self._reasons.get(kb_id)

    def look_at(self, kbs: Iterable[StoredKb]) -> None:
        """These are the knowledge bases there are; some of them may have changed."""
        self._kbs = list(kbs)
        self._announced.set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Work while the block lasts."""
        async with asyncio.TaskGroup() as tasks:
            # An index takes minutes, in which other knowledge bases are to be embedded.
            running = [tasks.create_task(work) for work in (self._run(), self._build_indexes())]
            try:
                yield
            finally:
                for task in running:
                    task.cancel()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval):
                    await self._announced.wait()
            self._announced.clear()
            for stored in self._kbs:
                if await self._work_on(stored):
                    self._announced.set()

    async def _work_on(self, stored: StoredKb) -> bool:
        """Whether there is more to do for a knowledge base, and nothing against it."""
        kb_id = stored.kb.kb_id
        try:
            has_more = await self.embed(stored)
        except (EmbedderUnavailable, TransientError, PermanentError) as error:
            if self._reasons.get(kb_id) != str(error):
                log.warning("could not embed", kb_id=kb_id, reason=str(error))
            self._reasons[kb_id] = str(error)
            return False
        self._reasons.pop(kb_id, None)
        return has_more

    async def embed(self, stored: StoredKb) -> bool:
        """Bring a knowledge base's vectors nearer to what its documents and its embedder ask for; whether more is left.

        Raises EmbedderUnavailable or TransientError; what was embedded until then stays.
        """
        if stored.kb.embedder == NO_EMBEDDER or not stored.kb.chunks:
            return False
        embedder = self._embedders.get(stored.kb.embedder)
        await self._wake(embedder)
        async with self._database.only_one(f"embed/{stored.uid}") as is_ours:
            if is_ours and (space := await self._space(stored, embedder)) is not None:
                if await self._fill(stored, space, embedder):
                    return True
                await self._finish(stored, space)
        return False

    async def _wake(self, embedder: Embedder) -> None:
        """Have a model loaded before the first question needs it."""
        if embedder.name not in self._awake:
            await embedder.passages(["wake up"])
            self._awake.add(embedder.name)

    async def _space(self, stored: StoredKb, embedder: Embedder) -> Space | None:
        if (space := await self._find(stored, embedder)) is not None:
            return space
        dimension = embedder.dimension or len((await embedder.passages(["dimension"]))[0])
        if dimension > MAX_DIMENSION:
            raise EmbedderUnavailable(f"its vectors have {dimension} numbers; {MAX_DIMENSION} can be searched")
        await self._vectors.open_space(stored.uid, stored.kb.embedder, embedder.name, dimension)
        return await self._find(stored, embedder)

    async def _find(self, stored: StoredKb, embedder: Embedder) -> Space | None:
        spaces = (await self._vectors.embedded(stored.uid)).spaces
        wanted = (stored.kb.embedder, embedder.name)
        return next((space for space in spaces if (space.embedder, space.model) == wanted), None)

    async def _fill(self, stored: StoredKb, space: Space, embedder: Embedder) -> bool:
        for _ in range(_TURN):
            chunks = await self._vectors.pending(stored.uid, space, _BATCH)
            if not chunks:
                return False
            vectors = await embedder.passages([f"{chunk.header}\n{chunk.text}" for chunk in chunks])
            await self._vectors.add(space, chunks, vectors)
        return True

    async def _finish(self, stored: StoredKb, space: Space) -> None:
        """All chunks have a vector: search them from now on, and forget what was searched until then."""
        if not space.is_complete:
            await self._vectors.complete(space)
        embedded = await self._vectors.embedded(stored.uid)
        for other in embedded.spaces:
            if other.space_id != space.space_id:
                await self._vectors.drop(other.space_id)
            elif other.ready > EXACT_ROWS and not other.is_indexed and self._large.empty():
                self._large.put_nowait(other)

    async def _build_indexes(self) -> None:
        """One at a time, here and in other processes; what could not be built is looked at again soon."""
        while True:
            space = await self._large.get()
            try:
                async with self._database.only_one(f"index/{space.space_id}") as is_ours:
                    if is_ours:
                        await self._vectors.index(space)
            except TransientError as error:
                log.warning("could not build an index", space_id=space.space_id, reason=str(error))
