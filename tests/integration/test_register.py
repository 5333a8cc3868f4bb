"""The register of knowledge bases when several replicas write it, on a real server."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from uuid import uuid4

import pytest
from nats.js.api import KeyValueConfig

from citewire.contracts.knowledge import KnowledgeBase
from citewire.runtime.bus import Bus
from citewire.runtime.registry import Registry, watch
from retriever.register import Register
from retriever.store.kbs import KbStore, StoredKb

FIRST, SECOND = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@dataclass
class ScriptedKbs(KbStore):
    """Stands for Postgres: says `kbs`, and lets something happen right after they were read."""

    kbs: list[KnowledgeBase]
    then: Callable[[], Awaitable[None]]

    async def all(self) -> list[StoredKb]:
        await self.then()
        return [StoredKb(uuid4(), kb) for kb in self.kbs]


@pytest.fixture
async def registry(bus: Bus) -> AsyncGenerator[Registry[KnowledgeBase]]:
    name = f"test-{uuid4().hex}"
    await bus.js.create_key_value(KeyValueConfig(bucket=name, history=1))
    async with watch(bus, name, KnowledgeBase) as registry:
        yield registry
    await bus.js.delete_key_value(name)


def kb(created_at: str = FIRST, **settings: object) -> KnowledgeBase:
    return KnowledgeBase.model_validate({"kb_id": "kb", "title": "T", "created_at": created_at} | settings)


async def refreshed(
    registry: Registry[KnowledgeBase],
    before: KnowledgeBase | None,
    postgres: KnowledgeBase | None,
    meanwhile: KnowledgeBase | None,
) -> KnowledgeBase | None:
    """The entry after one replica read `postgres`, and another wrote `meanwhile` before it could write."""
    if before is not None:
        await registry.put("kb", before)
        await registry.wait_for("kb", present=True)

    async def other_replica() -> None:
        if meanwhile is None:
            await registry.remove("kb")
        else:
            await registry.put("kb", meanwhile)

    kbs = ScriptedKbs([] if postgres is None else [postgres], other_replica)
    await Register(registry, kbs).refresh()
    return await registry.read("kb")


async def test_a_late_removal_leaves_the_new_one_of_the_same_name(registry: Registry[KnowledgeBase]) -> None:
    new = kb(SECOND)

    assert await refreshed(registry, before=kb(), postgres=None, meanwhile=new) == new


async def test_what_was_removed_meanwhile_stays_removed(registry: Registry[KnowledgeBase]) -> None:
    assert await refreshed(registry, before=kb(), postgres=kb(revision=1), meanwhile=None) is None


async def test_a_later_revision_stays(registry: Registry[KnowledgeBase]) -> None:
    later = kb(revision=2)

    assert await refreshed(registry, before=kb(), postgres=kb(revision=1), meanwhile=later) == later


async def test_what_postgres_says_replaces_what_is_older(registry: Registry[KnowledgeBase]) -> None:
    newest = kb(revision=2)

    assert await refreshed(registry, before=kb(), postgres=newest, meanwhile=kb(revision=1)) == newest


async def test_a_restored_database_with_lower_revisions_is_what_holds(registry: Registry[KnowledgeBase]) -> None:
    restored = kb(revision=1)

    assert await refreshed(registry, before=kb(revision=9), postgres=restored, meanwhile=kb(revision=9)) == restored


async def test_the_removal_of_an_earlier_one_leaves_room_for_the_new_one(registry: Registry[KnowledgeBase]) -> None:
    new = kb(SECOND)

    assert await refreshed(registry, before=kb(), postgres=new, meanwhile=None) == new


async def test_a_new_one_is_not_taken_for_shown_while_an_earlier_one_is(registry: Registry[KnowledgeBase]) -> None:
    await registry.put("kb", kb())
    await registry.wait_for("kb", present=True)
    new = kb(SECOND)

    async def nothing() -> None:
        pass

    await Register(registry, ScriptedKbs([new], nothing)).show(new)

    assert registry.entries["kb"] == new
