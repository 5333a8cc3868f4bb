"""Documents and where their uploads stand, in Postgres."""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from citewire.contracts.events import DocumentSubmitted
from citewire.contracts.evidence import PageSpan
from citewire.contracts.knowledge import Document, PageText
from citewire.contracts.requests import DocumentList
from citewire.runtime.database import Database
from citewire.text.normalise import clean

if TYPE_CHECKING:
    from asyncpg import Record

# Characters that one reply carries at most: four bytes each still fit the bus's payload limit.
MAX_PAGE_CHARACTERS = 150_000
# A reason is shown to a person.
_MAX_REASON = 500


@dataclass(frozen=True)
class Submission:
    """A document with the event that asks for its newest upload to be read."""

    document: Document
    event: DocumentSubmitted


@dataclass(frozen=True)
class SearchedVersion:
    """What is searched of a document: the version, 0 for none yet, and the hash of its file."""

    version: int
    sha256: bytes | None


class DocumentStore:
    """Everything about documents but their contents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # The same upload submitted again changes nothing but `updated_at`, so asking twice is safe.
    _SUBMIT = """
        WITH submitted AS (
            INSERT INTO knowledge.documents AS d (kb_uid, file_name, title, newest, upload, status)
            SELECT kb_uid, $2, $2, 1, $3, 'submitted' FROM knowledge.kbs WHERE kb_id = $1 AND deleted_at IS NULL
            ON CONFLICT (kb_uid, file_name) WHERE deleted_at IS NULL DO UPDATE SET
                newest = d.newest + (d.upload <> excluded.upload)::int,
                status = CASE WHEN d.upload = excluded.upload THEN d.status ELSE 'submitted' END,
                reason = CASE WHEN d.upload = excluded.upload THEN d.reason END,
                upload = excluded.upload,
                updated_at = now()
            RETURNING d.*
        )
        SELECT submitted.*, $1 AS kb_id FROM submitted
    """

    async def submit(self, kb_id: str, file_name: str, upload: str) -> Submission | None:
        """Note an upload as the newest of its document; None when there is no such knowledge base."""
        row = await self._database.row(self._SUBMIT, kb_id, file_name, upload)
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
        UPDATE knowledge.documents d
        SET status = CASE WHEN newest = $2 AND version < $2 THEN 'parsing' ELSE status END, updated_at = now()
        FROM knowledge.kbs k
        WHERE d.doc_id = $1 AND d.deleted_at IS NULL AND k.kb_uid = d.kb_uid AND k.deleted_at IS NULL
        RETURNING d.version, (SELECT sha256 FROM knowledge.versions v WHERE v.doc_id = $1 AND v.version = d.version)
    """

    async def begin(self, doc_id: UUID, version: int) -> SearchedVersion | None:
        """Note that an upload is being read, and say what is searched until then; None when the document is gone."""
        row = await self._database.row(self._BEGIN, doc_id, version)
        return None if row is None else SearchedVersion(row["version"], row["sha256"])

    _FINISH = """
        UPDATE knowledge.documents SET status = 'indexed', reason = NULL, updated_at = now()
        WHERE doc_id = $1 AND newest = $2 AND deleted_at IS NULL
    """

    async def finish(self, doc_id: UUID, version: int) -> None:
        """The newest upload is searchable; an older one says nothing about the document."""
        await self._database.rows(self._FINISH, doc_id, version)

    _FAIL = """
        UPDATE knowledge.documents SET status = 'failed', reason = $3, updated_at = now()
        WHERE doc_id = $1 AND newest = $2 AND version < $2 AND deleted_at IS NULL
    """

    async def fail(self, doc_id: UUID, version: int, reason: str) -> None:
        """The newest upload can't be read; the version before it stays searched."""
        await self._database.rows(self._FAIL, doc_id, version, clean(reason)[:_MAX_REASON])

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

    _GET = """
        SELECT d.*, k.kb_id FROM knowledge.documents d JOIN knowledge.kbs k USING (kb_uid)
        WHERE k.kb_id = $1 AND d.doc_id = $2 AND d.deleted_at IS NULL AND k.deleted_at IS NULL
    """

    async def get(self, kb_id: str, doc_id: UUID) -> Document | None:
        """One document."""
        row = await self._database.row(self._GET, kb_id, doc_id)
        return None if row is None else _document(row)

    _LIST = """
        SELECT d.*, k.kb_id FROM knowledge.documents d JOIN knowledge.kbs k USING (kb_uid)
        WHERE k.kb_id = $1 AND d.file_name > $2 AND d.deleted_at IS NULL AND k.deleted_at IS NULL
        ORDER BY d.file_name LIMIT $3 + 1
    """

    async def list(self, kb_id: str, limit: int, cursor: str | None) -> DocumentList:
        """Documents by file name; the cursor is the last name of the page before."""
        rows = await self._database.rows(self._LIST, kb_id, clean(cursor or ""), limit)
        documents = tuple(_document(row) for row in rows[:limit])
        return DocumentList(documents=documents, next_cursor=documents[-1].file_name if len(rows) > limit else None)

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
    return Document.model_validate(dict(row))


def _submitted(row: "Record") -> DocumentSubmitted:
    return DocumentSubmitted(
        kb_id=row["kb_id"],
        doc_id=row["doc_id"],
        version=row["newest"],
        upload=row["upload"],
        file_name=row["file_name"],
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
