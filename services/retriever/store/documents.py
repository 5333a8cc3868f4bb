"""Documents and where their uploads stand, in Postgres."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from citewire.contracts.events import DocumentSubmitted
from citewire.contracts.evidence import PageSpan
from citewire.contracts.knowledge import Document, DocumentStatus, Metadata, PageText
from citewire.contracts.requests import DocumentList
from citewire.runtime.database import Database
from citewire.text.normalise import clean

if TYPE_CHECKING:
    from asyncpg import Record

# Characters that one reply carries at most: four bytes each still fit the bus's payload limit.
MAX_PAGE_CHARACTERS = 150_000
# A reason is shown to a person.
_MAX_REASON = 500

# Documents as they are shown: embedded when the newest vectors of the knowledge base's embedder cover all chunks.
_DOCUMENTS: Final = """
    SELECT d.*, k.kb_id, coalesce(e.chunks, 0) AS embedded,
        CASE WHEN d.status = 'indexed' AND e.chunks >= d.chunks THEN 'embedded' ELSE d.status END AS shown_status
    FROM knowledge.documents d
    JOIN knowledge.kbs k USING (kb_uid)
    LEFT JOIN LATERAL (
        SELECT space_id FROM knowledge.spaces s WHERE s.kb_uid = k.kb_uid AND s.embedder = k.embedder
        ORDER BY space_id DESC LIMIT 1
    ) newest ON true
    LEFT JOIN knowledge.embedded e
        ON e.space_id = newest.space_id AND e.doc_id = d.doc_id AND e.version = d.version
    WHERE d.deleted_at IS NULL AND k.deleted_at IS NULL
"""


@dataclass(frozen=True)
class Submission:
    """A document with the event that asks for its newest upload to be read."""

    document: Document
    event: DocumentSubmitted


@dataclass(frozen=True)
class SearchedVersion:
    """What is searched of a document: the version, 0 for none yet, and the hash of its file.

    `is_settled` says that the upload in question was dealt with by an earlier delivery.
    """

    version: int
    sha256: bytes | None
    is_settled: bool


class DocumentStore:
    """Everything about documents but their contents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # The same upload submitted again changes nothing but `updated_at`, so asking twice is safe.
    _SUBMIT = """
        INSERT INTO knowledge.documents AS d (kb_uid, file_name, title, newest, upload, status, submitted_metadata)
        SELECT kb_uid, $2, $2, 1, $3, 'submitted', $4 FROM knowledge.kbs WHERE kb_id = $1 AND deleted_at IS NULL
        ON CONFLICT (kb_uid, file_name) WHERE deleted_at IS NULL DO UPDATE SET
            newest = d.newest + (d.upload <> excluded.upload)::int,
            status = CASE WHEN d.upload = excluded.upload THEN d.status ELSE 'submitted' END,
            reason = CASE WHEN d.upload = excluded.upload THEN d.reason END,
            upload = excluded.upload,
            submitted_metadata = excluded.submitted_metadata,
            updated_at = now()
        RETURNING d.*, $1 AS kb_id, 0 AS embedded, d.status AS shown_status
    """

    async def submit(self, kb_id: str, file_name: str, upload: str, metadata: Metadata) -> Submission | None:
        """Note an upload as the newest of its document; None when there is no such knowledge base."""
        row = await self._database.row(self._SUBMIT, kb_id, file_name, upload, json.dumps(metadata))
        return None if row is None else Submission(_document(row), _submitted(row))

    _WAITING = """
        SELECT d.*, k.kb_id FROM knowledge.documents d JOIN knowledge.kbs k USING (kb_uid)
        WHERE d.status = 'submitted' AND d.deleted_at IS NULL AND k.deleted_at IS NULL
        ORDER BY d.updated_at
    """

    async def waiting(self) -> list[DocumentSubmitted]:
        """The uploads that nobody has begun to read."""
        return [_submitted(row) for row in await self._database.rows(self._WAITING)]

    _BEGIN = """
        UPDATE knowledge.documents d SET updated_at = now(),
            status = CASE WHEN newest = $2 AND version < $2 AND status <> 'indexed' THEN 'parsing' ELSE status END
        FROM knowledge.kbs k
        WHERE d.doc_id = $1 AND d.deleted_at IS NULL AND k.kb_uid = d.kb_uid AND k.deleted_at IS NULL
        RETURNING d.version, (SELECT sha256 FROM knowledge.versions v WHERE v.doc_id = $1 AND v.version = d.version),
            d.version > $2 OR d.newest = $2 AND d.status = 'indexed' AS is_settled
    """

    async def begin(self, doc_id: UUID, version: int) -> SearchedVersion | None:
        """Note that an upload is being read, and say what is searched until then; None when the document is gone."""
        row = await self._database.row(self._BEGIN, doc_id, version)
        return None if row is None else SearchedVersion(row["version"], row["sha256"], row["is_settled"])

    _FINISH = """
        UPDATE knowledge.documents SET status = 'indexed', reason = NULL, updated_at = now()
        WHERE doc_id = $1 AND newest = $2 AND deleted_at IS NULL
    """

    async def finish(self, doc_id: UUID, version: int) -> None:
        """The newest upload is searchable; an older one says nothing about the document."""
        await self._database.rows(self._FINISH, doc_id, version)

    _FINISH_UNCHANGED = """
        UPDATE knowledge.documents d SET status = 'indexed', reason = NULL, updated_at = now(),
            metadata = d.submitted_metadata
        FROM knowledge.documents before
        WHERE d.doc_id = $1 AND before.doc_id = d.doc_id AND d.newest = $2 AND d.deleted_at IS NULL
        RETURNING d.kb_uid, before.metadata <> d.metadata AS has_changed
    """
    _CHANGED = "UPDATE knowledge.kbs SET revision = revision + 1 WHERE kb_uid = $1"

    async def finish_unchanged(self, doc_id: UUID, version: int) -> None:
        """The newest upload is what is searched already, perhaps with other metadata."""
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._FINISH_UNCHANGED, doc_id, version)
            if row is not None and row["has_changed"]:
                await connection.execute(self._CHANGED, row["kb_uid"])

    _FAIL = """
        UPDATE knowledge.documents SET status = 'failed', reason = $3, updated_at = now()
        WHERE doc_id = $1 AND newest = $2 AND version < $2 AND deleted_at IS NULL
        RETURNING reason
    """

    async def fail(self, doc_id: UUID, version: int, reason: str) -> str | None:
        """The newest upload can't be read; the version before it stays searched.

        Returns the reason as noted, None when nobody waits for this upload any more.
        """
        row = await self._database.row(self._FAIL, doc_id, version, clean(reason)[:_MAX_REASON])
        return None if row is None else str(row["reason"])

    _REMOVE = """
        UPDATE knowledge.documents d SET deleted_at = now(), updated_at = now()
        FROM knowledge.kbs k
        WHERE d.doc_id = $2 AND d.deleted_at IS NULL AND k.kb_uid = d.kb_uid AND k.kb_id = $1 AND k.deleted_at IS NULL
        RETURNING d.kb_uid, d.version, d.newest, d.chunks
    """
    _REMOVE_CONTENTS = "DELETE FROM knowledge.versions WHERE doc_id = $1"
    # The row lock on the knowledge base, held to the end, makes revisions appear in their order.
    _COUNT_DOWN = """
        WITH kb AS (
            UPDATE knowledge.kbs SET revision = revision + 1, documents = documents - $3, chunks = chunks - $4
            WHERE kb_uid = $2 RETURNING revision
        )
        UPDATE knowledge.documents SET revision = kb.revision FROM kb WHERE doc_id = $1
    """

    async def remove(self, kb_id: str, doc_id: UUID) -> int | None:
        """Remove a document with its contents; its newest version, or None when there is no such document."""
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._REMOVE, kb_id, doc_id)
            if row is None:
                return None
            await connection.execute(self._REMOVE_CONTENTS, doc_id)
            await connection.execute(self._COUNT_DOWN, doc_id, row["kb_uid"], int(row["version"] > 0), row["chunks"])
            return int(row["newest"])

    _GET = f"{_DOCUMENTS} AND k.kb_id = $1 AND d.doc_id = $2"

    async def get(self, kb_id: str, doc_id: UUID) -> Document | None:
        """One document."""
        row = await self._database.row(self._GET, kb_id, doc_id)
        return None if row is None else _document(row)

    _LIST = f"""
        SELECT * FROM ({_DOCUMENTS} AND k.kb_id = $1 AND d.file_name > $2) listed
        WHERE $4::text IS NULL OR shown_status = $4
        ORDER BY file_name LIMIT $3 + 1
    """  # noqa: S608 - both parts are constants

    async def list(self, kb_id: str, limit: int, cursor: str | None, status: DocumentStatus | None) -> DocumentList:
        """Documents by file name, all or those with a status; the cursor is the last name of the page before."""
        rows = await self._database.rows(self._LIST, kb_id, clean(cursor or ""), limit, status)
        documents = tuple(_document(row) for row in rows[:limit])
        return DocumentList(documents=documents, next_cursor=documents[-1].file_name if len(rows) > limit else None)

    _CURRENT = """
        SELECT k.kb_id, d.doc_id, d.version FROM knowledge.documents d JOIN knowledge.kbs k USING (kb_uid)
        WHERE d.doc_id = ANY($1::uuid[]) AND d.deleted_at IS NULL AND k.deleted_at IS NULL
    """

    async def current_versions(self, doc_ids: Collection[UUID]) -> dict[tuple[str, UUID], int]:
        """The searched versions of documents that are not removed, by knowledge base and document."""
        rows = await self._database.rows(self._CURRENT, doc_ids)
        return {(row["kb_id"], row["doc_id"]): row["version"] for row in rows}

    _PAGE = """
        SELECT d.doc_id, d.version, d.title, p.number, p.label, p.start_at, p.end_at,
            substr(v.text, p.start_at + 1, least(p.end_at - p.start_at, $4)) AS text
        FROM knowledge.documents d
        JOIN knowledge.kbs k USING (kb_uid)
        JOIN knowledge.versions v USING (doc_id, version)
        JOIN (
            SELECT doc_id, version, number, label, start_at, end_at FROM knowledge.pages
            UNION ALL
            SELECT doc_id, version, NULL, NULL, 0, characters FROM knowledge.documents WHERE pages = 0
        ) p USING (doc_id, version)
        WHERE k.kb_id = $1 AND d.doc_id = $2 AND p.number IS NOT DISTINCT FROM $3
            AND d.deleted_at IS NULL AND k.deleted_at IS NULL
    """

    async def page(self, kb_id: str, doc_id: UUID, number: int | None) -> PageText | None:
        """A page of the searched version; without a number, the text of a document that has no pages."""
        row = await self._database.row(self._PAGE, kb_id, doc_id, number, MAX_PAGE_CHARACTERS)
        return None if row is None else _page(row)


def _document(row: "Record") -> Document:
    shown = {"status": row["shown_status"]} | {name: json.loads(row[name]) for name in ("metadata", "contextual")}
    return Document.model_validate(dict(row) | shown)


def _submitted(row: "Record") -> DocumentSubmitted:
    return DocumentSubmitted(
        kb_id=row["kb_id"],
        doc_id=row["doc_id"],
        version=row["newest"],
        upload=row["upload"],
        file_name=row["file_name"],
        metadata=json.loads(row["submitted_metadata"]),
    )


def _page(row: "Record") -> PageText:
    start, end = row["start_at"], row["start_at"] + len(row["text"])
    return PageText(
        doc_id=row["doc_id"],
        version=row["version"],
        title=row["title"],
        page=None
        if row["number"] is None
        else PageSpan(number=row["number"], label=row["label"], start=start, end=row["end_at"]),
        start=start,
        end=end,
        text=row["text"],
    )
