"""Embedders whose model runs in this machine's embedding worker."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retriever.embedding import e5
from retriever.embedding.embedder import BATCH_LIMIT, QUERY_LIMIT, Role
from retriever.embedding.local import thread_count
from retriever.embedding.names import embedder_name
from retriever.embedding.settings import BundledSettings, LocalSettings
from retriever.embedding.worker import Worker

# Texts in one request: about a second of work, so that clients take turns.
_BATCH = 8


class WorkerEmbedder:
    """An embedder whose model runs in the worker; it takes its `dimension` from the first vectors where None."""

    def __init__(self, worker: Worker, name: str, dimension: int | None, passage_threads: int) -> None:
        self._worker = worker
        self._name = name
        self._dimension = dimension
        # One more than are embedded at the same time, so that no thread waits for us.
        self._window = passage_threads + 1

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int | None:
        return self._dimension

    async def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors [len(texts), dimension]; raises TransientError and EmbedderUnavailable."""
        if not texts:
            return np.empty((0, self._dimension or 0), dtype=np.float32)
        window = asyncio.Semaphore(self._window)
        try:
            async with asyncio.TaskGroup() as group:
                parts = [
                    group.create_task(self._batch(texts[start : start + _BATCH], window))
                    for start in range(0, len(texts), _BATCH)
                ]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        return np.concatenate([part.result() for part in parts])

    async def query(self, text: str) -> NDArray[np.float32]:
        """The vector [dimension]; raises TransientError and EmbedderUnavailable."""
        vectors = await self._ask([text], Role.QUERY, QUERY_LIMIT)
        return np.asarray(vectors[0])

    async def _batch(self, texts: Sequence[str], window: asyncio.Semaphore) -> NDArray[np.float32]:
        async with window:
            return await self._ask(texts, Role.PASSAGE, BATCH_LIMIT)

    async def _ask(self, texts: Sequence[str], role: Role, limit: float) -> NDArray[np.float32]:
        vectors = await self._worker.ask(texts, role, limit)
        self._dimension = vectors.shape[1]
        return vectors


@contextlib.asynccontextmanager
async def open_worker(settings: LocalSettings, data_dir: Path) -> AsyncGenerator[WorkerEmbedder]:
    """An embedder on this machine; no worker is looked for before it is asked."""
    worker = Worker(settings, data_dir)
    try:
        if isinstance(settings, BundledSettings):
            yield WorkerEmbedder(worker, e5.NAME, e5.DIMENSION, thread_count(settings))
        else:
            name = embedder_name("fastembed", settings.model, settings.passage_prefix)
            yield WorkerEmbedder(worker, name, None, thread_count(settings))
    finally:
        await worker.close()
