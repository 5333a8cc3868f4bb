"""The contents of documents in Postgres: written whole, and read by what follows them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from pydantic import TypeAdapter

from citewire.contracts.evidence import PageSpan
from citewire.contracts.filters import Value
from citewire.contracts.knowledge import Contextual, ContextualState
from citewire.runtime.database import Database
from citewire.text.scripts import script_of
from retriever.contents import NewChunk, NewVersion
from retriever.parents import Child, parents_of

if TYPE_CHECKING:
    from citewire.runtime.database import Connection

_WAITING = Contextual(state=ContextualState.WAITING)
_PAGES = TypeAdapter(tuple[PageSpan, ...])
_PAGE_COLUMNS = ("doc_id", "version", "number", "label", "start_at", "end_at")
_CHUNK_COLUMNS = (
    *("doc_id", "version", "ordinal", "start_at", "end_at", "section", "header", "pages", "text", "gap"),
    *("parent_first", "parent_last"),
)
# Chunks that an index takes in one step: bounds memory, and is large enough that committing costs little.
_FEED_CHUNKS = 16_000
# Rows that are copied in one step: asyncpg moves all that it has collected for each kilobyte beyond 64.
_COPY_ROWS = 60


class FeedChunk(NamedTuple):
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
            characters = $10, notes = $11, script = $12, metadata = $13, contextual = $14,
            context_due = CASE WHEN $15 THEN now() END, context_tries = 0, revision = kb.revision, updated_at = now()
        FROM kb WHERE doc_id = $1
    """

    async def store(  # noqa: PLR0913 - what is stored comes from three places
        self,
        doc_id: UUID,
        version: int,
        sha256: bytes,
        new: NewVersion,
        metadata: Mapping[str, Value] | None = None,
        *,
        is_to_be_summarised: bool = False,
    ) -> None:
        """Make a version the searched one, in place of the one before; perhaps one that waits for a model's summaries.

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
                new.notes,
                script_of(new.text) or "",
                json.dumps(dict(metadata or {})),
                (_WAITING if is_to_be_summarised else Contextual()).model_dump_json(),
                is_to_be_summarised,
            )

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
    await _copy(
        connection,
        "pages",
        _PAGE_COLUMNS,
        [(doc_id, version, page.number, page.label, page.start, page.end) for page in new.pages],
    )
    await _copy(
        connection,
        "chunks",
        _CHUNK_COLUMNS,
        [
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
                new.text[end_before : chunk.start],
                *parent,
            )
            for chunk, end_before, parent in _placed(new.chunks)
        ],
    )


async def _copy(
    connection: "Connection", table: str, columns: Sequence[str], records: Sequence[tuple[Any, ...]]
) -> None:
    for start in range(0, len(records), _COPY_ROWS):
        await connection.copy_records_to_table(
            table, schema_name="knowledge", columns=columns, records=records[start : start + _COPY_ROWS]
        )


def _placed(chunks: Sequence[NewChunk]) -> Iterator[tuple[NewChunk, int, tuple[int, int]]]:
    """Each chunk with the end of the one before it and the ordinals of its parent's first and last chunk."""
    children = [
        Child(chunk.start, chunk.end, chunk.section, chunk.pages[0].number if chunk.pages else None) for chunk in chunks
    ]
    ends = [chunks[0].start if chunks else 0, *(chunk.end for chunk in chunks)]
    return zip(chunks, ends, parents_of(children), strict=False)
