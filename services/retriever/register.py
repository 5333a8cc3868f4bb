"""The register of knowledge bases that every service watches, kept to what Postgres says."""

from datetime import datetime
from functools import partial

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
        # Seen before Postgres is read: what another replica writes in between is later than what was read.
        seen = dict(self._registry.entries)
        kbs = await self._kbs.all()
        for stored in kbs:
            if (before := seen.pop(stored.kb.kb_id, None)) != stored.kb:
                await self._registry.change(stored.kb.kb_id, partial(_later, stored.kb, before))
        for kb_id, before in seen.items():
            await self._registry.change(kb_id, partial(_unless_same, before))
        return kbs

    async def show(self, kb: KnowledgeBase) -> None:
        """Refresh, and return once this process sees these settings or later ones; raises TransientError."""
        if all(stored.kb.kb_id != kb.kb_id for stored in await self.refresh()):
            return  # removed again meanwhile
        try:
            await self._registry.wait_until(lambda kbs: kb.kb_id in kbs and _age(kbs[kb.kb_id]) >= _age(kb))
        except TimeoutError as error:
            raise TransientError("the register of knowledge bases is late") from error


def _age(kb: KnowledgeBase) -> tuple[datetime, int]:
    """What tells earlier settings from later ones, and a knowledge base from a removed one of the same id."""
    return kb.created_at, kb.revision


def _later(kb: KnowledgeBase, before: KnowledgeBase | None, now: KnowledgeBase | None) -> KnowledgeBase | None:
    """What Postgres said, unless something later was written since the register was seen `before`."""
    if now == before:
        return kb
    if now is None:
        # Removed since: this one, or one of the same id before it.
        return kb if before is None or before.created_at != kb.created_at else None
    return max(kb, now, key=_age)


def _unless_same(before: KnowledgeBase, now: KnowledgeBase | None) -> KnowledgeBase | None:
    """Nothing, unless what is there was written since the register was seen `before`."""
    return None if now == before else now
