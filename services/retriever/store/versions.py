"""The contents of documents in Postgres: written whole, read by searches and by the indexes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from pydantic import TypeAdapter

from citewire.contracts.evidence import PageSpan, Segment
from citewire.runtime.database import Database
from retriever.contents import NewVersion

if TYPE_CHECKING:
    from asyncpg import Record

    from citewire.runtime.database import Connection

_PAGES = TypeAdapter(tuple[PageSpan, ...])
_PAGE_COLUMNS = ("doc_id", "version", "number", "label", "start_at", "end_at")
_CHUNK_COLUMNS = ("doc_id", "version", "ordinal", "start_at", "end_at", "section", "header", "pages", "text")
# Chunks that an index takes in one step: bounds memory, and is large enough that committing costs little.
_FEED_CHUNKS = 4000


@dataclass(frozen=True)
class FeedChunk:
    """A chunk as an index needs it."""

    chunk_id: int
    header: str
    text: str


@dataclass(frozen=True)
class ChangedDocument:
    """A document as it is now, and the revision that made it so; a removed one has no chunks."""

    doc_id: UUID
    revision: int
    chunks: tuple[FeedChunk, ...]


class VersionStore:
    """Stores versions and reads chunks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    _LOCK = """
        SELECT d.kb_uid, d.version, d.chunks FROM knowledge.documents d JOIN knowledge.kbs k USING (kb_uid)
        WHERE d.doc_id = $1 AND d.version < $2 AND d.deleted_at IS NULL AND k.deleted_at IS NULL
        FOR UPDATE OF d
    """
    _DROP_OLD = "DELETE FROM knowledge.versions WHERE doc_id = $1"
    _ADD = "INSERT INTO knowledge.versions (doc_id, version, text, sha256) VALUES ($1, $2, $3, $4)"
    # Last, because it locks the knowledge base: revisions then appear in their order, and no writer waits for long.
    _MAKE_CURRENT = """
        WITH kb AS (
            UPDATE knowledge.kbs SET revision = revision + 1, documents = documents + $3, chunks = chunks + $4
            WHERE kb_uid = $2 RETURNING revision
        )
        UPDATE knowledge.documents SET version = $5, title = $6, document_type = $7, pages = $8, chunks = $9,
            characters = $10, revision = kb.revision, updated_at = now()
        FROM kb WHERE doc_id = $1
    """

    async def store(self, doc_id: UUID, version: int, sha256: bytes, new: NewVersion) -> None:
        """Make a version the searched one, in place of the one before.

        Nothing happens when the document is gone or has this version, or a later one, already.
        """
        async with self._database.transaction() as connection:
            old = await connection.fetchrow(self._LOCK, doc_id, version)
            if old is None:
                return
            await connection.execute(self._DROP_OLD, doc_id)
            await connection.execute(self._ADD, doc_id, version, new.text, sha256)
            await _copy_contents(connection, doc_id, version, new)
            await connection.execute(
                self._MAKE_CURRENT,
                doc_id,
                old["kb_uid"],
                int(old["version"] == 0),
                len(new.chunks) - old["chunks"],
                version,
                new.title,
                new.document_type,
                len(new.pages),
                len(new.chunks),
                len(new.text),
            )

    # Chunks first, whatever the planner thinks: right after a large upload it knows nothing of the tables yet, and
    # going from the documents to their chunks takes 20 ms instead of 1 (26,000 chunks).
    _READ = """
        WITH hit AS MATERIALIZED (SELECT * FROM knowledge.chunks WHERE chunk_id = ANY($2::bigint[]))
        SELECT hit.*, d.title, d.file_name, d.document_type
        FROM hit
        JOIN knowledge.documents d ON d.doc_id = hit.doc_id AND d.version = hit.version
        JOIN knowledge.kbs k USING (kb_uid)
        WHERE k.kb_id = $1 AND d.deleted_at IS NULL AND k.deleted_at IS NULL
    """

    async def read(self, kb_id: str, scores: Mapping[int, float]) -> dict[int, Segment]:
        """The chunks of these ids that stand in the searched version of a document; others are left out."""
        rows = await self._database.rows(self._READ, kb_id, list(scores))
        return {row["chunk_id"]: _segment(kb_id, row, scores[row["chunk_id"]]) for row in rows}

    # One statement, so that documents and chunks are seen at the same moment; OFFSET 0 keeps the planner from reading
    # the whole table of chunks for one changed document.
    _CHANGES = """
        WITH changed AS (
            SELECT doc_id, version, revision, sum(chunks) OVER (ORDER BY revision) - chunks AS before
            FROM knowledge.documents WHERE kb_uid = $1 AND revision > $2
            ORDER BY revision LIMIT $3
        )
        SELECT changed.doc_id, changed.revision, c.chunk_id, c.header, c.text
        FROM changed LEFT JOIN LATERAL (
            SELECT chunk_id, ordinal, header, text FROM knowledge.chunks
            WHERE doc_id = changed.doc_id AND version = changed.version
            OFFSET 0
        ) c ON true
        WHERE changed.before < $3
        ORDER BY changed.revision, c.ordinal
    """

    async def changes(self, kb_uid: UUID, after: int) -> list[ChangedDocument]:
        """The next documents that changed after a revision, in the order of their changes; empty: that is all."""
        rows = await self._database.rows(self._CHANGES, kb_uid, after, _FEED_CHUNKS)
        changed: dict[UUID, tuple[int, list[FeedChunk]]] = {}
        for row in rows:
            _, chunks = changed.setdefault(row["doc_id"], (row["revision"], []))
            if row["chunk_id"] is not None:
                chunks.append(FeedChunk(row["chunk_id"], row["header"], row["text"]))
        return [ChangedDocument(doc_id, revision, tuple(chunks)) for doc_id, (revision, chunks) in changed.items()]


async def _copy_contents(connection: "Connection", doc_id: UUID, version: int, new: NewVersion) -> None:
    await connection.copy_records_to_table(
        "pages",
        schema_name="knowledge",
        columns=_PAGE_COLUMNS,
        records=[(doc_id, version, page.number, page.label, page.start, page.end) for page in new.pages],
    )
    await connection.copy_records_to_table(
        "chunks",
        schema_name="knowledge",
        columns=_CHUNK_COLUMNS,
        records=[
            (
                doc_id,
                version,
                chunk.ordinal,
                chunk.start,
                chunk.end,
                chunk.section,
                chunk.header,
                _PAGES.dump_json(chunk.pages).decode(),
                new.text[chunk.start : chunk.end],
            )
            for chunk in new.chunks
        ],
    )


def _segment(kb_id: str, row: "Record", score: float) -> Segment:
    return Segment(
        kb_id=kb_id,
        doc_id=row["doc_id"],
        version=row["version"],
        title=row["title"],
        file_name=row["file_name"],
        document_type=row["document_type"],
        section=row["section"],
        pages=_PAGES.validate_json(row["pages"]),
        start=row["start_at"],
        end=row["end_at"],
        text=row["text"],
        score=score,
        first_chunk=row["ordinal"],
        last_chunk=row["ordinal"],
    )
