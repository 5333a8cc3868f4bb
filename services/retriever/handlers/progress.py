"""The stage that tells how far a knowledge base is embedded."""

from dataclasses import dataclass

from citewire.contracts.knowledge import Embedding
from citewire.contracts.requests import EmbeddingReply, GetEmbedding
from citewire.runtime.errors import not_found
from retriever.backlog import EmbeddingBacklog
from retriever.register import Register
from retriever.store.kbs import KbStore
from retriever.store.vectors import VectorStore


@dataclass(frozen=True)
class EmbeddingProgress:
    """Answers with what Postgres has and with what stops this process."""

    register: Register
    kbs: KbStore
    vectors: VectorStore
    backlog: EmbeddingBacklog

    async def get_embedding(self, request: GetEmbedding) -> EmbeddingReply:
        """How far the newest vectors of the wanted embedder are."""
        kb = await self.register.readable(request.kb_id, request.user)
        stored = await self.kbs.find(request.kb_id)
        if stored is None:
            raise not_found(f"knowledge base: {request.kb_id}")
        spaces = (await self.vectors.embedded(stored.uid)).spaces
        space = next((space for space in spaces if space.embedder == kb.embedder), None)
        reason = self.backlog.reason(request.kb_id)
        if space is None:
            return EmbeddingReply(embedding=Embedding(reason=reason))
        return EmbeddingReply(
            embedding=Embedding(model=space.model, dimension=space.dimension, chunks=space.ready, reason=reason)
        )
