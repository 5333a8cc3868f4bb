"""The dense leg: which vectors of a knowledge base are searched, and with what."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from citewire.contracts.knowledge import NO_EMBEDDER
from citewire.runtime.errors import TransientError
from citewire.text.scripts import Script
from retriever.embedding.embedder import Embedder, EmbedderUnavailable
from retriever.embedding.embedders import Embedders
from retriever.passages import Hit
from retriever.store.vectors import Embedded, Space, VectorStore

# Seconds for which what is known of a knowledge base's vectors is not asked again.
_FRESH = 1.0


@dataclass(frozen=True)
class DenseResult:
    """What the leg found for each query, and how much of the knowledge base it could find: `ready` of `total` chunks.

    Without any hits `skipped` or `error` says why.
    """

    rankings: tuple[tuple[Hit, ...], ...]
    ready: int
    total: int
    script: Script | None
    skipped: str | None = None
    error: str | None = None


class DenseLeg:
    """Finds nearest chunks."""

    def __init__(self, vectors: VectorStore, embedders: Embedders) -> None:
        self._vectors = vectors
        self._embedders = embedders
        self._known: dict[UUID, tuple[float, Embedded]] = {}

    async def search(
        self, kb_uid: UUID, embedder: str, queries: Sequence[str], limit: int, documents: Sequence[UUID] | None
    ) -> DenseResult:
        """The `limit` nearest chunks for each query; raises TransientError for Postgres alone."""
        embedded = await self._embedded(kb_uid)
        nothing = DenseResult(((),) * len(queries), 0, embedded.chunks, embedded.script)
        if embedder == NO_EMBEDDER:
            return replace(nothing, skipped="no embedder is set")
        try:
            model, space = self._choose(embedder, embedded)
            if space is None or not space.ready:
                return replace(nothing, skipped="nothing is embedded yet" if embedded.chunks else "it is empty")
            vectors = [await model.query(query) for query in queries]
        except EmbedderUnavailable as unavailable:
            return replace(nothing, skipped=unavailable.reason)
        except TransientError as error:
            return replace(nothing, error=str(error))
        rankings = [await self._vectors.search(space, vector, limit, documents) for vector in vectors]
        if None in rankings:
            # Other vectors have just taken their place.
            self._known.pop(kb_uid, None)
            return await self.search(kb_uid, embedder, queries, limit, documents)
        return replace(nothing, rankings=tuple(_finite(hits or ()) for hits in rankings), ready=space.ready)

    def _choose(self, wanted: str, embedded: Embedded) -> tuple[Embedder, Space | None]:
        """The newest complete space that its embedder still fits; before there is one, the wanted one, or else another.

        Raises EmbedderUnavailable when there is nothing to search with, nor will be.
        """
        usable = [space for space in embedded.spaces if space.is_complete or space.ready]
        for space in sorted(usable, key=lambda space: (not space.is_complete, space.embedder != wanted)):
            if (model := self._fitting(space)) is not None:
                return model, space
        return self._embedders.get(wanted), None

    def _fitting(self, space: Space) -> Embedder | None:
        try:
            model = self._embedders.get(space.embedder)
        except EmbedderUnavailable:
            return None
        return model if model.name == space.model else None

    async def _embedded(self, kb_uid: UUID) -> Embedded:
        at, embedded = self._known.get(kb_uid, (float("-inf"), None))
        if embedded is None or time.monotonic() - at > _FRESH:
            embedded = await self._vectors.embedded(kb_uid)
            self._known[kb_uid] = (time.monotonic(), embedded)
        return embedded


def _finite(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits without those whose vectors have no distance, such as one of zeros: nothing can be said of them."""
    return tuple(hit for hit in hits if math.isfinite(hit.score))
