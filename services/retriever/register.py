"""The register of knowledge bases that every service watches, kept to what Postgres says."""

import nats.errors

from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.runtime.errors import TransientError, forbidden, not_found
from citewire.runtime.registry import Registry
from retriever.store.kbs import KbStore, StoredKb


class Register:
    """Writes what changed, which several replicas may do at once, and says who may do what."""

    def __init__(self, entries: Registry[KnowledgeBase], kbs: KbStore) -> None:
        self._registry = entries
        self._kbs = kbs

    def __contains__(self, kb_id: str) -> bool:
        return kb_id in self._registry.entries

    async def find(self, kb_id: str) -> KnowledgeBase | None:
        """A knowledge base; Postgres is asked for one that was made a moment ago."""
        if (kb := self._registry.entries.get(kb_id)) is not None:
            return kb
        stored = await self._kbs.find(kb_id)
        return None if stored is None else stored.kb

    async def readable(self, kb_id: str, user: User) -> KnowledgeBase:
        """A knowledge base that a user may read; raises Refusal 404 as if there were none."""
        kb = await self.find(kb_id)
        if kb is None or not kb.is_readable_by(user):
            raise not_found(f"knowledge base: {kb_id}")
        return kb

    async def managed(self, kb_id: str, user: User) -> KnowledgeBase:
        """A knowledge base that a user may change; raises Refusal: 404 or, for one who may only read it, 403."""
        kb = await self.readable(kb_id, user)
        if not kb.is_managed_by(user):
            raise forbidden("Only the owner of this knowledge base or an administrator may do this.")
        return kb

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

    async def show(self, kb: KnowledgeBase) -> None:
        """Refresh, and return once this process sees these settings or later ones; raises TransientError."""
        await self.refresh()
        try:
            await self._registry.wait_until(
                lambda kbs: kb.kb_id not in kbs or kbs[kb.kb_id].revision >= kb.revision,
            )
        except TimeoutError as error:
            raise TransientError("the register of knowledge bases is late") from error

    async def _put_if_newer(self, kb: KnowledgeBase, seen: KnowledgeBase | None) -> None:
        # Looked at again: what another task or replica wrote meanwhile, such as a revoked access, must stay.
        now = self._registry.entries.get(kb.kb_id)
        if now is not None and now.created_at == kb.created_at and now.revision > kb.revision:
            return
        is_other = seen is None or seen.created_at != kb.created_at
        if is_other or (seen != kb and seen is not None and seen.revision <= kb.revision):
            await self._registry.put(kb.kb_id, kb)
