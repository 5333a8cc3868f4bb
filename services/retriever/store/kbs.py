"""Knowledge bases in Postgres."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from citewire.contracts.knowledge import KnowledgeBase, KnowledgeBaseChanges, KnowledgeBaseSettings, NewKnowledgeBase
from citewire.runtime.database import Database

if TYPE_CHECKING:
    from asyncpg import Record

_JSON_COLUMNS: Final = ("access", "metadata_schema", "retrieval")


@dataclass(frozen=True)
class StoredKb:
    """A knowledge base with the key that tells it from an earlier one of the same id."""

    uid: UUID
    kb: KnowledgeBase


class KbStore:
    """Creates, changes, lists and removes knowledge bases."""

    def __init__(self, database: Database) -> None:
        self._database = database

    _CREATE = """
        INSERT INTO knowledge.kbs (kb_id, title, description, language, owner, access, metadata_schema, retrieval,
            embedder, reranker, pool)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (kb_id) WHERE deleted_at IS NULL DO NOTHING
        RETURNING *
    """

    async def create(self, new: NewKnowledgeBase) -> KnowledgeBase | None:
        """A new knowledge base, or None when the id is taken."""
        row = await self._database.row(self._CREATE, new.kb_id, *_columns(new))
        return None if row is None else _stored_kb(row).kb

    # One statement, so that two changes of different settings at the same time both hold.
    _UPDATE = """
        UPDATE knowledge.kbs SET title = coalesce($2, title), description = coalesce($3, description),
            language = coalesce($4, language), owner = coalesce($5, owner), access = coalesce($6, access),
            metadata_schema = coalesce($7, metadata_schema), retrieval = coalesce($8, retrieval),
            embedder = coalesce($9, embedder), reranker = coalesce($10, reranker), pool = coalesce($11, pool),
            revision = revision + 1
        WHERE kb_id = $1 AND deleted_at IS NULL
        RETURNING *
    """

    async def update(self, kb_id: str, changes: KnowledgeBaseChanges) -> KnowledgeBase | None:
        """A knowledge base with other settings, or None when there is none."""
        row = await self._database.row(self._UPDATE, kb_id, *_columns(changes))
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

    # One at a time and never twice at once: deleting a large one takes a while. Its vectors go first.
    _PURGE = """
        DELETE FROM knowledge.kbs WHERE kb_uid = (
            SELECT kb_uid FROM knowledge.kbs k WHERE deleted_at IS NOT NULL
                AND NOT EXISTS (SELECT FROM knowledge.spaces s WHERE s.kb_uid = k.kb_uid)
            LIMIT 1 FOR UPDATE SKIP LOCKED
        )
    """

    async def purge(self) -> None:
        """Delete the rows of one removed knowledge base, if there is one."""
        await self._database.rows(self._PURGE)


def _columns(settings: KnowledgeBaseSettings | KnowledgeBaseChanges) -> list[str | None]:
    """The values of the columns in the order of the settings' fields; None where nothing is given."""
    values = settings.model_dump(mode="json", include=set(KnowledgeBaseSettings.model_fields))
    return [
        json.dumps(values[name]) if name in _JSON_COLUMNS and values[name] is not None else values[name]
        for name in KnowledgeBaseSettings.model_fields
    ]


def _stored_kb(row: "Record") -> StoredKb:
    columns = dict(row) | {name: json.loads(row[name]) for name in _JSON_COLUMNS}
    return StoredKb(row["kb_uid"], KnowledgeBase.model_validate(columns))
