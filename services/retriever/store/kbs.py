"""Knowledge bases in Postgres."""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from citewire.contracts.knowledge import KnowledgeBase, NewKnowledgeBase
from citewire.runtime.database import Database

if TYPE_CHECKING:
    from asyncpg import Record


@dataclass(frozen=True)
class StoredKb:
    """A knowledge base with the key that tells it from an earlier one of the same id."""

    uid: UUID
    kb: KnowledgeBase


class KbStore:
    """Creates, lists and removes knowledge bases."""

    def __init__(self, database: Database) -> None:
        self._database = database

    _CREATE = """
        INSERT INTO knowledge.kbs (kb_id, title, description, language) VALUES ($1, $2, $3, $4)
        ON CONFLICT (kb_id) WHERE deleted_at IS NULL DO NOTHING
        RETURNING *
    """

    async def create(self, new: NewKnowledgeBase) -> KnowledgeBase | None:
        """A new knowledge base, or None when the id is taken."""
        row = await self._database.row(self._CREATE, new.kb_id, new.title, new.description, new.language)
        return None if row is None else _stored_kb(row).kb

    _FIND = "SELECT * FROM knowledge.kbs WHERE kb_id = $1 AND deleted_at IS NULL"

    async def find(self, kb_id: str) -> StoredKb | None:
        """A knowledge base that is not removed."""
        row = await self._database.row(self._FIND, kb_id)
        return None if row is None else _stored_kb(row)

    _ALL = "SELECT * FROM knowledge.kbs WHERE deleted_at IS NULL ORDER BY kb_id"

    async def all(self) -> list[StoredKb]:
        """Every knowledge base that is not removed."""
        return [_stored_kb(row) for row in await self._database.rows(self._ALL)]

    _REMOVE = "UPDATE knowledge.kbs SET deleted_at = now() WHERE kb_id = $1 AND deleted_at IS NULL RETURNING kb_uid"

    async def remove(self, kb_id: str) -> bool:
        """Take a knowledge base out of every answer; False when there is none."""
        return await self._database.row(self._REMOVE, kb_id) is not None

    # One at a time and never twice at once: deleting a large one takes a while.
    _PURGE = """
        DELETE FROM knowledge.kbs WHERE kb_uid = (
            SELECT kb_uid FROM knowledge.kbs WHERE deleted_at IS NOT NULL LIMIT 1 FOR UPDATE SKIP LOCKED
        )
    """

    async def purge(self) -> None:
        """Delete the rows of one removed knowledge base, if there is one."""
        await self._database.rows(self._PURGE)


def _stored_kb(row: "Record") -> StoredKb:
    return StoredKb(row["kb_uid"], KnowledgeBase.model_validate(dict(row)))
