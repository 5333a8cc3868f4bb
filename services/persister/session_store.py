"""The SQL of sessions: made, listed, read, renamed, deleted. Outcomes bring them, too (`store`)."""

from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg

from citewire.contracts.requests import InteractionPage, SessionContext, SessionPage
from citewire.contracts.sessions import Interaction, Session, SessionParams, Turn
from citewire.runtime.database import Database
from citewire.runtime.errors import not_found
from citewire.text.normalise import clean
from persister.encoding import (
    escape_like,
    interaction_cursor,
    read_interaction_cursor,
    read_session_cursor,
    session_cursor,
    to_json,
)

if TYPE_CHECKING:
    Record = asyncpg.Record

# Without the count, which grows with the session: a follow-up must not.
_CONTEXT = """
select session_id, user_id, title, params, created_at, updated_at, null::bigint as interactions
from conversations.sessions
where session_id = $1 and user_id = $2
"""

_SESSION = """
select session_id, user_id, title, params, created_at, updated_at,
    (select count(*) from conversations.interactions where interactions.session_id = sessions.session_id)
        as interactions
from conversations.sessions
"""

_CREATE_SESSION = """
insert into conversations.sessions (session_id, user_id, title, params, supp_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, now(), now()) on conflict do nothing
"""

_RENAME_SESSION = "update conversations.sessions set title = $3 where session_id = $1 and user_id = $2"

_DELETE_SESSION = "delete from conversations.sessions where session_id = $1 and user_id = $2 returning session_id"

_LIST_SESSIONS = f"""
{_SESSION}
where user_id = $1
    and ($2::text is null or supp_id = $2)
    and ($3::text is null or title ilike $3 or exists (
        select from conversations.interactions
        where interactions.session_id = sessions.session_id and interactions.question ilike $3))
    and ($4::timestamptz is null or (updated_at, session_id) < ($4, $5))
order by updated_at desc, session_id desc
limit $6
"""

_TURNS = """
select question, answer from conversations.interactions
where session_id = $1 and answer <> ''
order by sequence desc
limit $2
"""

_INTERACTIONS = """
select record, sequence from conversations.interactions
where session_id = $1 and sequence > $2
order by sequence
limit $3
"""


class SessionStore:
    """Sessions of users; raises TransientError when a later try can succeed, and Refusal 404 for another's session."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create_session(self, session_id: UUID, user_id: str, title: str, params: SessionParams) -> Session:
        """Create a session; a second time changes nothing."""
        await self._database.execute(
            _CREATE_SESSION, session_id, user_id, clean(title), to_json(params), clean(params.supp_id)
        )
        return await self.session(session_id, user_id)

    async def session(self, session_id: UUID, user_id: str) -> Session:
        """A session of this user."""
        return await self._find(f"{_SESSION} where session_id = $1 and user_id = $2", session_id, user_id)

    async def rename_session(self, session_id: UUID, user_id: str, title: str) -> Session:
        """Give a session of this user another title."""
        await self._database.execute(_RENAME_SESSION, session_id, user_id, clean(title))
        return await self.session(session_id, user_id)

    async def delete_session(self, session_id: UUID, user_id: str) -> None:
        """Delete a session of this user with its interactions."""
        if not await self._database.rows(_DELETE_SESSION, session_id, user_id):
            raise not_found("session")

    async def list_sessions(
        self, user_id: str, supp_id: str | None, text: str | None, limit: int, cursor: str | None
    ) -> SessionPage:
        """This user's sessions, newest change first."""
        at, last = (None, None) if cursor is None else read_session_cursor(cursor)
        pattern = None if text is None else f"%{escape_like(clean(text))}%"
        label = None if supp_id is None else clean(supp_id)
        rows = await self._database.rows(_LIST_SESSIONS, user_id, label, pattern, at, last, limit + 1)
        sessions = tuple(_session(row) for row in rows[:limit])
        more = session_cursor((sessions[-1].updated_at, sessions[-1].session_id)) if len(rows) > limit else None
        return SessionPage(sessions=sessions, next_cursor=more)

    async def context(self, session_id: UUID, user_id: str, turns: int) -> SessionContext:
        """A session of this user with its newest turns, oldest first."""
        session = await self._find(_CONTEXT, session_id, user_id)
        rows = await self._database.rows(_TURNS, session_id, turns) if turns else []
        newest_last = tuple(Turn(question=row["question"], answer=row["answer"]) for row in reversed(rows))
        return SessionContext(session=session, turns=newest_last)

    async def read_session(self, session_id: UUID, user_id: str, limit: int, cursor: str | None) -> InteractionPage:
        """A session of this user with a page of its interactions, oldest first."""
        session = await self.session(session_id, user_id)
        after = 0 if cursor is None else read_interaction_cursor(cursor)
        rows = await self._database.rows(_INTERACTIONS, session_id, after, limit + 1)
        more = interaction_cursor(rows[limit - 1]["sequence"]) if len(rows) > limit else None
        interactions = tuple(Interaction.model_validate_json(row["record"]) for row in rows[:limit])
        return InteractionPage(session=session, interactions=interactions, next_cursor=more)

    async def _find(self, statement: str, session_id: UUID, user_id: str) -> Session:
        row = await self._database.row(statement, session_id, user_id)
        if row is None:
            raise not_found("session")
        return _session(row)


def _session(row: "Record") -> Session:
    params = SessionParams.model_validate_json(row["params"])
    return Session(
        session_id=row["session_id"],
        user_id=row["user_id"],
        title=row["title"],
        params=params,
        kb_ids=params.kb_ids,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        interactions=row["interactions"],
    )
