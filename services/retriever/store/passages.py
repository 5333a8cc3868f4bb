"""What searches read: where chunks stand, and the text of runs of chunks, always of the searched versions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from pydantic import TypeAdapter

from citewire.contracts.evidence import PageSpan, Segment
from citewire.contracts.filters import FieldType, Filter
from citewire.runtime.database import Database
from retriever.passages import LocatedChunk, Names, ScoredRun
from retriever.store.filters import filter_condition

if TYPE_CHECKING:
    from asyncpg import Record

_PAGES = TypeAdapter(tuple[PageSpan, ...])


class PassageStore:
    """Reads chunks by id and by place."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Chunks first, whatever the planner thinks: right after a large upload it knows nothing of the tables yet, and
    # going from the documents to their chunks takes 20 ms instead of 1 (26,000 chunks).
    _LOCATE = """
        WITH hit AS MATERIALIZED (
            SELECT chunk_id, doc_id, version, ordinal, start_at, end_at, parent_first, parent_last,
                CASE WHEN chunk_id = ANY($3::bigint[]) THEN header || E'\n' || text END AS passage
            FROM knowledge.chunks WHERE chunk_id = ANY($2::bigint[])
        )
        SELECT hit.* FROM hit
        JOIN knowledge.documents d ON d.doc_id = hit.doc_id AND d.version = hit.version
        WHERE d.kb_uid = $1 AND d.deleted_at IS NULL
            AND EXISTS (SELECT FROM knowledge.kbs WHERE kb_uid = $1 AND deleted_at IS NULL)
    """

    async def locate(self, kb_uid: UUID, chunk_ids: Iterable[int], read: Iterable[int] = ()) -> dict[int, LocatedChunk]:
        """The chunks of these ids that stand in the searched version of a document; others are left out.

        Those that are to be `read` come with what a model reads of them.
        """
        rows = await self._database.rows(self._LOCATE, kb_uid, list(chunk_ids), list(read))
        return {row["chunk_id"]: LocatedChunk._make(row) for row in rows}

    _NAMES = "SELECT doc_id, file_name, title FROM knowledge.documents WHERE doc_id = ANY($1::uuid[])"

    async def names(self, doc_ids: Iterable[UUID]) -> dict[UUID, Names]:
        """What documents are called."""
        rows = await self._database.rows(self._NAMES, list(doc_ids))
        return {row["doc_id"]: Names(row["file_name"], row["title"]) for row in rows}

    _MATCHING = """
        SELECT d.doc_id FROM knowledge.documents d
        WHERE d.kb_uid = $1 AND d.deleted_at IS NULL AND d.version > 0 AND {condition}
    """

    async def matching(self, kb_uid: UUID, part: Filter, schema: Mapping[str, FieldType]) -> list[UUID]:
        """The documents whose metadata passes a checked filter."""
        condition, values = filter_condition(part, schema, 2)
        rows = await self._database.rows(self._MATCHING.format(condition=condition), kb_uid, *values)
        return [row["doc_id"] for row in rows]

    _TEXTS = "SELECT chunk_id, header, text FROM knowledge.chunks WHERE chunk_id = ANY($1::bigint[])"

    async def texts(self, chunk_ids: Iterable[int]) -> dict[int, str]:
        """What a model reads of these chunks: header and text."""
        rows = await self._database.rows(self._TEXTS, list(chunk_ids))
        return {row["chunk_id"]: f"{row['header']}\n{row['text']}" for row in rows}

    _READ = """
        SELECT run.place, d.title, d.file_name, d.document_type,
            min(c.start_at) AS start_at, max(c.end_at) AS end_at,
            string_agg(CASE c.ordinal WHEN run.first THEN c.text ELSE c.gap || c.text END, '' ORDER BY c.ordinal)
                AS text,
            array_agg(c.pages ORDER BY c.ordinal) AS pages,
            array_agg(c.section ORDER BY c.ordinal) AS sections
        FROM unnest($2::uuid[], $3::integer[], $4::integer[], $5::integer[]) WITH ORDINALITY
            AS run (doc_id, version, first, last, place)
        JOIN knowledge.documents d ON d.doc_id = run.doc_id AND d.version = run.version
        JOIN knowledge.chunks c
            ON c.doc_id = run.doc_id AND c.version = run.version AND c.ordinal BETWEEN run.first AND run.last
        WHERE d.kb_uid = $1 AND d.deleted_at IS NULL
        GROUP BY run.place, d.doc_id
        ORDER BY run.place
    """

    async def read(self, kb_uid: UUID, kb_id: str, runs: Sequence[ScoredRun]) -> list[Segment]:
        """The runs with their text, in their order; those whose version is no longer searched are left out."""
        if not runs:
            return []
        columns = [[getattr(run, name) for run in runs] for name in ("doc_id", "version", "first", "last")]
        rows = await self._database.rows(self._READ, kb_uid, *columns)
        return [_segment(kb_id, runs[row["place"] - 1], row) for row in rows]


def _segment(kb_id: str, run: ScoredRun, row: "Record") -> Segment:
    pages = {page.number: page for pages in row["pages"] for page in _PAGES.validate_json(pages)}
    return Segment(
        kb_id=kb_id,
        doc_id=run.doc_id,
        version=run.version,
        title=row["title"],
        file_name=row["file_name"],
        document_type=row["document_type"],
        section=row["sections"][0],
        pages=tuple(pages.values()),
        start=row["start_at"],
        end=row["end_at"],
        text=row["text"],
        score=run.score,
        first_chunk=run.first,
        last_chunk=run.last,
    )
