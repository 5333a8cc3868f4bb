"""Vectors of chunks in Postgres (pgvector): a table per knowledge base and embedder, here called a space."""

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from citewire.runtime.database import Database
from citewire.runtime.errors import TransientError
from citewire.text.scripts import Script
from retriever.passages import Hit

if TYPE_CHECKING:
    from asyncpg import Record

Vector = NDArray[np.float32]
# Half precision: half the memory to go through, and no measurable loss. An index of them takes as many numbers.
MAX_DIMENSION = 4000
# Rows beyond which an index (HNSW) is faster by so much that its missing a neighbour now and then is worth it.
EXACT_ROWS = 20_000
# Without room for the whole graph building takes many times as long; helpers would share it in a memory that
# containers have little of.
_INDEX_SETTINGS = {"maintenance_work_mem": "1GB", "max_parallel_maintenance_workers": "0"}
# Share of a knowledge base's chunks that must be in one script for it to be said to be written in it.
_MAIN_SCRIPT_SHARE = 0.8
# Documents with chunks to embed that are looked at in one step.
_PENDING_DOCUMENTS = 64


@dataclass(frozen=True)
class Space:
    """Vectors of one embedder for one knowledge base; `ready` counts them."""

    space_id: int
    embedder: str
    model: str
    dimension: int
    is_complete: bool
    is_indexed: bool
    ready: int

    @property
    def table(self) -> str:
        """Its table's name, made of a number alone."""
        return f"knowledge.vectors_{int(self.space_id)}"


@dataclass(frozen=True)
class Embedded:
    """What can be said of a knowledge base's vectors: its spaces, newest first, its chunks, and its main script."""

    spaces: tuple[Space, ...]
    chunks: int
    script: Script | None


@dataclass(frozen=True)
class PendingChunk:
    """A chunk without a vector."""

    chunk_id: int
    doc_id: UUID
    version: int
    header: str
    text: str


@contextlib.contextmanager
def _dropped_is_transient() -> Generator[None]:
    """A space may be dropped, with its knowledge base, while it is being filled."""
    try:
        yield
    except asyncpg.UndefinedTableError as error:
        raise TransientError("the vectors have just been dropped") from error


class VectorStore:
    """Keeps vectors and searches them by inner product, which is the cosine of vectors of unit length."""

    def __init__(self, database: Database) -> None:
        self._database = database

    _SPACES = """
        SELECT s.space_id, s.embedder, s.model, s.dimension, s.is_complete, s.is_indexed,
            coalesce(sum(e.chunks) FILTER (WHERE d.deleted_at IS NULL AND e.version = d.version), 0)::int AS ready
        FROM knowledge.spaces s
        LEFT JOIN knowledge.embedded e USING (space_id)
        LEFT JOIN knowledge.documents d ON d.doc_id = e.doc_id
        WHERE s.kb_uid = $1
        GROUP BY s.space_id ORDER BY s.space_id DESC
    """
    _SCRIPTS = """
        SELECT script, sum(chunks)::int AS chunks FROM knowledge.documents
        WHERE kb_uid = $1 AND deleted_at IS NULL AND version > 0 GROUP BY script ORDER BY chunks DESC
    """

    async def embedded(self, kb_uid: UUID) -> Embedded:
        """How far a knowledge base is embedded, and by which embedders."""
        spaces = await self._database.rows(self._SPACES, kb_uid)
        scripts = await self._database.rows(self._SCRIPTS, kb_uid)
        return Embedded(tuple(Space(**row) for row in spaces), sum(row["chunks"] for row in scripts), _main(scripts))

    _OPEN = """
        INSERT INTO knowledge.spaces (kb_uid, embedder, model, dimension)
        SELECT kb_uid, $2, $3, $4 FROM knowledge.kbs WHERE kb_uid = $1 AND deleted_at IS NULL FOR KEY SHARE
        ON CONFLICT (kb_uid, embedder, model) DO NOTHING
        RETURNING space_id
    """

    async def open_space(self, kb_uid: UUID, embedder: str, model: str, dimension: int) -> None:
        """Make a space unless there is one; nothing happens when the knowledge base is gone."""
        async with self._database.transaction() as connection:
            space_id = await connection.fetchval(self._OPEN, kb_uid, embedder, model, dimension)
            if space_id is not None:
                table = f"knowledge.vectors_{int(space_id)}"
                await connection.execute(
                    f"CREATE TABLE {table} (chunk_id bigint PRIMARY KEY, doc_id uuid NOT NULL,"
                    f" vector halfvec({int(dimension)}) NOT NULL);"
                    f"CREATE INDEX ON {table} (doc_id)"
                )

    async def search(
        self, space: Space, vector: Vector, limit: int, documents: Sequence[UUID] | None = None
    ) -> list[Hit] | None:
        """The nearest chunks, best first, of these documents only if they are given; None when the space is gone."""
        # Adding zero keeps the planner from the index, which would miss neighbours among few documents.
        condition, order = ("", "") if documents is None else ("WHERE doc_id = ANY($3::uuid[])", " + 0.0")
        values = (HalfVector(vector), limit) if documents is None else (HalfVector(vector), limit, documents)
        statement = f"""
            SELECT chunk_id, -(vector <#> $1) AS score FROM {space.table} {condition}
            ORDER BY (vector <#> $1){order} LIMIT $2
        """  # noqa: S608 - of constants and a number
        try:
            rows = await self._database.rows(statement, *values)
        except asyncpg.UndefinedTableError:
            return None
        return [Hit._make(row) for row in rows]

    # A document that waits for its summaries would have to be embedded again with them.
    _PENDING = """
        WITH waiting AS MATERIALIZED (
            SELECT d.doc_id, d.version FROM knowledge.documents d
            LEFT JOIN knowledge.embedded e ON e.space_id = $2 AND e.doc_id = d.doc_id AND e.version = d.version
            WHERE d.kb_uid = $1 AND d.deleted_at IS NULL AND d.context_due IS NULL
                AND d.chunks > coalesce(e.chunks - e.stale, 0)
            ORDER BY d.revision LIMIT $4
        )
        SELECT c.chunk_id, c.doc_id, c.version, c.header, c.text
        FROM waiting JOIN knowledge.chunks c USING (doc_id, version)
        WHERE c.is_stale OR NOT EXISTS (SELECT FROM {table} v WHERE v.chunk_id = c.chunk_id)
        ORDER BY c.chunk_id LIMIT $3
    """

    async def pending(self, kb_uid: UUID, space: Space, limit: int) -> list[PendingChunk]:
        """The next chunks without a vector of their header, of the documents that changed first; empty: none."""
        statement = self._PENDING.format(table=space.table)
        with _dropped_is_transient():
            rows = await self._database.rows(statement, kb_uid, space.space_id, limit, _PENDING_DOCUMENTS)
        return [PendingChunk(**row) for row in rows]

    # Whoever replaces or removes a document waits for this, and its vectors go with its version.
    _HOLD = "SELECT doc_id FROM knowledge.versions WHERE doc_id = $1 AND version = $2 FOR KEY SHARE"
    # A header may have changed since it was read here.
    _FRESHEN = """
        UPDATE knowledge.chunks c SET is_stale = false
        FROM unnest($1::bigint[], $2::text[]) AS made (chunk_id, header)
        WHERE c.chunk_id = made.chunk_id AND c.is_stale AND c.header = made.header
    """
    _COUNT = """
        INSERT INTO knowledge.embedded (space_id, doc_id, version, chunks, stale)
        SELECT $1, $2, $3, count(*), count(*) FILTER (WHERE c.is_stale)
        FROM {table} v JOIN knowledge.chunks c USING (chunk_id) WHERE v.doc_id = $2
        ON CONFLICT (space_id, doc_id) DO UPDATE
        SET version = excluded.version, chunks = excluded.chunks, stale = excluded.stale
    """

    async def add(self, space: Space, chunks: Sequence[PendingChunk], vectors: Vector) -> None:
        """Store the vectors of chunks whose version is still the searched one."""
        documents = {(chunk.doc_id, chunk.version) for chunk in chunks}
        with _dropped_is_transient():
            await self._add(space, chunks, vectors, documents)

    async def _add(
        self, space: Space, chunks: Sequence[PendingChunk], vectors: Vector, documents: set[tuple[UUID, int]]
    ) -> None:
        async with self._database.transaction() as connection:
            # In one order everywhere, so that two writers wait for one another instead of dying.
            for doc_id, version in sorted(documents):
                held = await connection.fetchval(self._HOLD, doc_id, version)
                mine = [(chunk, vector) for chunk, vector in zip(chunks, vectors, strict=True) if chunk.doc_id == held]
                await connection.executemany(
                    f"INSERT INTO {space.table} VALUES ($1, $2, $3)"  # noqa: S608 - a number
                    " ON CONFLICT (chunk_id) DO UPDATE SET vector = excluded.vector",
                    [(chunk.chunk_id, doc_id, HalfVector(vector)) for chunk, vector in mine],
                )
                if mine:
                    headers = {chunk.chunk_id: chunk.header for chunk, _ in mine}
                    await connection.execute(self._FRESHEN, list(headers), list(headers.values()))
                    await connection.execute(self._COUNT.format(table=space.table), space.space_id, doc_id, version)

    _COMPLETE = "UPDATE knowledge.spaces SET is_complete = true WHERE space_id = $1 AND NOT is_complete"

    async def complete(self, space: Space) -> None:
        """Search this space from now on instead of earlier ones."""
        await self._database.execute(self._COMPLETE, space.space_id)

    _LACKS_INDEX = "SELECT true FROM knowledge.spaces WHERE space_id = $1 AND NOT is_indexed"
    _INDEXED = "UPDATE knowledge.spaces SET is_indexed = true WHERE space_id = $1"

    async def index(self, space: Space) -> None:
        """Build the index of a large space (Malkov and Yashunin 2018) unless it has one.

        It is searched exactly until then.
        """
        if await self._database.row(self._LACKS_INDEX, space.space_id):
            with _dropped_is_transient():
                await self._build_index(space)

    async def _build_index(self, space: Space) -> None:
        name = f"vectors_{int(space.space_id)}_nearest"
        # What a process that died in the middle left behind is no index.
        await self._database.execute(f"DROP INDEX IF EXISTS knowledge.{name}")
        await self._database.execute_alone(
            f"CREATE INDEX CONCURRENTLY {name} ON {space.table} USING hnsw (vector halfvec_ip_ops)", _INDEX_SETTINGS
        )
        await self._database.execute(self._INDEXED, space.space_id)

    async def drop(self, space_id: int) -> None:
        """Forget a space."""
        async with self._database.transaction() as connection:
            await connection.execute("DELETE FROM knowledge.spaces WHERE space_id = $1", space_id)
            await connection.execute(f"DROP TABLE IF EXISTS knowledge.vectors_{int(space_id)}")

    _ORPHANED = """
        SELECT s.space_id FROM knowledge.spaces s JOIN knowledge.kbs k USING (kb_uid) WHERE k.deleted_at IS NOT NULL
    """

    async def drop_orphaned(self) -> None:
        """Forget the spaces of removed knowledge bases: their rows wait for it."""
        for row in await self._database.rows(self._ORPHANED):
            await self.drop(row["space_id"])


def _main(scripts: "Sequence[Record]") -> Script | None:
    """The script that nearly all chunks are of; None when they are mixed."""
    total = sum(row["chunks"] for row in scripts)
    if not total or not scripts[0]["script"] or scripts[0]["chunks"] < _MAIN_SCRIPT_SHARE * total:
        return None
    return Script(scripts[0]["script"])
