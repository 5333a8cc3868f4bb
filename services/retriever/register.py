"""The register of knowledge bases that every service watches, kept to what Postgres says."""

import nats.errors

from citewire.contracts.knowledge import KnowledgeBase
from citewire.runtime.errors import TransientError
from citewire.runtime.registry import Registry
from retriever.store.kbs import KbStore, StoredKb


class Register:
    """Writes what changed; several replicas may do so at once."""

    def __init__(self, entries: Registry[KnowledgeBase], kbs: KbStore) -> None:
        self._registry = entries
        self._kbs = kbs

    def __contains__(self, kb_id: str) -> bool:
        return kb_id in self._registry.entries

    async def refresh(self) -> list[StoredKb]:
        """Make the register say what Postgres says, and return it; raises TransientError."""
        # Seen before Postgres is read: what another replica adds in between must not look removed.
        seen = dict(self._registry.entries)
        kbs = await self._kbs.all()
        try:
            for stored in kbs:
                await self._put_if_newer(stored.kb, seen.get(stored.kb.kb_id))
            for kb_id in seen.keys() - {stored.kb.kb_id for stored in kbs}:
                await self._registry.remove(kb_id)
        except nats.errors.Error as error:
            raise TransientError(f"register: {error!r}") from error
        return kbs

    async def _put_if_newer(self, kb: KnowledgeBase, seen: KnowledgeBase | None) -> None:
        is_other = seen is None or seen.created_at != kb.created_at
        if is_other or (seen != kb and seen is not None and seen.revision <= kb.revision):
            await self._registry.put(kb.kb_id, kb)
