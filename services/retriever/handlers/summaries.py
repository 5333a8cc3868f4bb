"""The stage that has a model's summaries made for documents that are there already, and tells how far they are."""

from dataclasses import dataclass

from citewire.contracts.requests import ContextsReply, GetContexts, SummariseDocuments
from citewire.runtime.errors import conflict
from retriever.contexts import ContextBacklog
from retriever.register import Register
from retriever.store.contexts import ContextStore


@dataclass(frozen=True)
class Summariser:
    """Answers with what Postgres has; the backlog does the work."""

    register: Register
    contexts: ContextStore
    backlog: ContextBacklog

    async def get_contexts(self, request: GetContexts) -> ContextsReply:
        """How far a knowledge base's documents are."""
        await self.register.readable(request.kb_id, request.user)
        return ContextsReply(contexts=await self.contexts.progress(request.kb_id))

    async def summarise_documents(self, request: SummariseDocuments) -> ContextsReply:
        """Have all documents with plain headers summarised, from now on."""
        await self.register.managed(request.kb_id, request.user)
        if not self.backlog.is_wanted:
            raise conflict("No model may be asked for summaries: no usable provider has use_for_contextual.")
        await self.contexts.ask(request.kb_id)
        self.backlog.wake()
        return ContextsReply(contexts=await self.contexts.progress(request.kb_id))
