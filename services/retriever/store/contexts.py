"""Documents that wait for a model's summaries, and what came of it, in Postgres."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from citewire.contracts.knowledge import Contexts, Contextual, ContextualState
from citewire.contracts.provenance import Usage
from citewire.runtime.database import Database

# The sum of each count of tokens, over documents that a model was asked about.
_SPENT = ", ".join(
    f"coalesce(sum((d.contextual->'usage'->>'{name}')::bigint), 0)::bigint AS {name}" for name in Usage.model_fields
)


@dataclass(frozen=True)
class ClaimedDocument:
    """The searched version of a document that this process alone has summarised now, for the how many-th time.

    `contextual` is what came of the tries before.
    """

    doc_id: UUID
    version: int
    title: str
    file_name: str
    tries: int
    contextual: Contextual


class ContextStore:
    """Hands out documents to be summarised and takes their headers; nothing happens to versions that were replaced."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Who takes a document says until when; one that is still due then was taken by a process that died. What became
    # due last comes first: a new document does not wait for the old ones of a whole knowledge base.
    _CLAIM = """
        WITH due AS (
            SELECT d.doc_id FROM knowledge.documents d JOIN knowledge.kbs k USING (kb_uid)
            WHERE d.context_due <= now() AND d.deleted_at IS NULL AND k.deleted_at IS NULL
            ORDER BY d.context_due DESC LIMIT 1
            FOR UPDATE OF d SKIP LOCKED
        )
        UPDATE knowledge.documents d SET context_due = now() + make_interval(secs => $1),
            context_tries = context_tries + 1, contextual = contextual || jsonb_build_object('state', $2::text)
        FROM due WHERE d.doc_id = due.doc_id
        RETURNING d.doc_id, d.version, d.title, d.file_name, d.context_tries AS tries, d.contextual
    """

    async def claim(self, seconds: float) -> ClaimedDocument | None:
        """Take the newest document that waits for so many seconds; None when none does."""
        row = await self._database.row(self._CLAIM, seconds, ContextualState.SUMMARISING)
        if row is None:
            return None
        return ClaimedDocument(**dict(row) | {"contextual": Contextual.model_validate_json(row["contextual"])})

    # Those that fail again have changed since.
    _IS_OLD = f"""
        d.deleted_at IS NULL AND d.version > 0 AND d.context_due IS NULL AND d.updated_at <= k.summarise_before
        AND coalesce(d.contextual->>'state', '{ContextualState.PLAIN}')
            IN ('{ContextualState.PLAIN}', '{ContextualState.FAILED}')
    """
    _ASK = "UPDATE knowledge.kbs SET summarise_before = now() WHERE kb_id = $1 AND deleted_at IS NULL"

    async def ask(self, kb_id: str) -> None:
        """Have all documents of a knowledge base summarised that have plain headers now, for whatever reason."""
        await self._database.execute(self._ASK, kb_id)

    # Behind what became due since, and the newest of them first.
    _CALL_UP = f"""
        WITH old AS (
            SELECT d.doc_id FROM knowledge.documents d JOIN knowledge.kbs k USING (kb_uid)
            WHERE k.summarise_before IS NOT NULL AND k.deleted_at IS NULL AND {_IS_OLD}
            ORDER BY d.updated_at DESC LIMIT $1 FOR UPDATE OF d
        )
        UPDATE knowledge.documents d SET context_due = updated_at, context_tries = 0,
            contextual = contextual - 'reason' || jsonb_build_object('state', $2::text)
        FROM old WHERE d.doc_id = old.doc_id
        RETURNING d.doc_id
    """  # noqa: S608 - of constants
    _NOTE_ALL_CALLED = f"""
        UPDATE knowledge.kbs k SET summarise_before = NULL
        WHERE summarise_before IS NOT NULL
            AND NOT EXISTS (SELECT FROM knowledge.documents d WHERE d.kb_uid = k.kb_uid AND {_IS_OLD})
    """  # noqa: S608 - of constants

    async def call_up(self, limit: int) -> bool:
        """Have the next of those documents wait, so many at a time; whether there were any."""
        if await self._database.rows(self._CALL_UP, limit, ContextualState.WAITING):
            return True
        await self._database.execute(self._NOTE_ALL_CALLED)
        return False

    _FORGET = "UPDATE knowledge.kbs SET summarise_before = NULL WHERE summarise_before IS NOT NULL"

    async def forget(self) -> None:
        """Leave all documents that have not been called up yet as they are."""
        await self._database.execute(self._FORGET)

    _PROGRESS = f"""
        SELECT CASE WHEN {_IS_OLD} THEN $3 ELSE coalesce(d.contextual->>'state', $2) END AS state,
            count(*) AS documents, {_SPENT}
        FROM knowledge.documents d JOIN knowledge.kbs k USING (kb_uid)
        WHERE k.kb_id = $1 AND k.deleted_at IS NULL AND d.deleted_at IS NULL AND d.version > 0
        GROUP BY 1
    """  # noqa: S608 - of constants

    async def progress(self, kb_id: str) -> Contexts:
        """How many documents are in each state, and what it cost; those that are to be called up wait already."""
        rows = await self._database.rows(self._PROGRESS, kb_id, ContextualState.PLAIN, ContextualState.WAITING)
        counts = dict.fromkeys(ContextualState, 0) | {ContextualState(row["state"]): row["documents"] for row in rows}
        spent = {name: sum(row[name] for row in rows) for name in Usage.model_fields}
        return Contexts(documents=counts, usage=Usage(**spent) if any(spent.values()) else None)

    _SECTIONS = "SELECT section FROM knowledge.chunks WHERE doc_id = $1 AND version = $2 ORDER BY ordinal"

    async def sections(self, document: ClaimedDocument) -> list[str]:
        """The headings above each chunk, in one line."""
        rows = await self._database.rows(self._SECTIONS, document.doc_id, document.version)
        return [row["section"] for row in rows]

    _TEXTS = """
        SELECT ordinal, gap || text AS text FROM knowledge.chunks
        WHERE doc_id = $1 AND version = $2 AND ordinal = ANY($3::integer[])
    """

    async def texts(self, document: ClaimedDocument, ordinals: Collection[int]) -> dict[int, str]:
        """The texts of these chunks with what separates them from the chunk before."""
        rows = await self._database.rows(self._TEXTS, document.doc_id, document.version, ordinals)
        return {row["ordinal"]: row["text"] for row in rows}

    _IS_CLAIMED = "doc_id = $1 AND version = $2 AND context_tries = $3 AND deleted_at IS NULL"
    _NOTE = f"""
        UPDATE knowledge.documents SET contextual = $4, context_due = now() + make_interval(secs => $5),
            updated_at = now()
        WHERE {_IS_CLAIMED}
    """  # noqa: S608 - of constants

    async def note(self, document: ClaimedDocument, contextual: Contextual, again_in: float | None = None) -> None:
        """Leave the headers as they are and say why; perhaps to be tried again in so many seconds."""
        await self._database.execute(self._NOTE, *_key(document), contextual.model_dump_json(), again_in)

    _LOCK = f"SELECT kb_uid FROM knowledge.documents WHERE {_IS_CLAIMED} FOR UPDATE"  # noqa: S608 - of constants
    _SET_HEADERS = """
        UPDATE knowledge.chunks c SET header = new.header, is_stale = true
        FROM unnest($3::integer[], $4::text[]) AS new (ordinal, header)
        WHERE c.doc_id = $1 AND c.version = $2 AND c.ordinal = new.ordinal
    """
    _OUTDATE_VECTORS = "UPDATE knowledge.embedded SET stale = chunks WHERE doc_id = $1"
    # Last, as wherever a revision is made; what follows revisions reads the new headers.
    _FINISH = """
        WITH kb AS (UPDATE knowledge.kbs SET revision = revision + 1 WHERE kb_uid = $2 RETURNING revision)
        UPDATE knowledge.documents SET title = $3, contextual = $4, context_due = NULL, revision = kb.revision,
            updated_at = now()
        FROM kb WHERE doc_id = $1
    """

    async def finish(
        self, document: ClaimedDocument, title: str, headers: Mapping[int, str], contextual: Contextual
    ) -> None:
        """Give chunks other headers, by ordinal, and the document its title."""
        async with self._database.transaction() as connection:
            kb_uid = await connection.fetchval(self._LOCK, *_key(document))
            if kb_uid is None:
                return
            await connection.execute(
                self._SET_HEADERS, document.doc_id, document.version, list(headers), list(headers.values())
            )
            await connection.execute(self._OUTDATE_VECTORS, document.doc_id)
            await connection.execute(self._FINISH, document.doc_id, kb_uid, title, contextual.model_dump_json())


def _key(document: ClaimedDocument) -> tuple[UUID, int, int]:
    return document.doc_id, document.version, document.tries
