"""All SQL of the schema `conversations`."""

import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import orjson

from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected
from citewire.contracts.identity import User
from citewire.contracts.model import Message
from citewire.contracts.requests import InteractionPage, SessionContext, SessionPage
from citewire.contracts.sessions import (
    Interaction,
    InteractionStatus,
    Session,
    SessionParams,
    Turn,
    UserInput,
    new_session_id,
)
from citewire.runtime.database import Database
from citewire.runtime.errors import invalid, not_found
from citewire.text.normalise import clean, clean_json

if TYPE_CHECKING:
    Record = asyncpg.Record

SWEEP_BATCH = 100

_RECORD_QUESTION = """
insert into conversations.questions
    (question_id, asker, user_id, identity, session_id, kb_ids, question, asked_at, deadline, is_settled)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9,
    exists (select from conversations.interactions where question_id = $1))
on conflict do nothing
"""

_RECORD_REJECTION = """
insert into conversations.questions
    (question_id, asker, user_id, identity, kb_ids, question, asked_at, deadline, problem, is_settled)
values ($1, $2, $3, $4, '[]', $5, $6, $7, $8, true)
on conflict (question_id) do update set problem = excluded.problem, is_settled = true
where not questions.is_settled
"""

_IS_REJECTED = "select from conversations.questions where question_id = $1 and problem is not null"

# One statement, one transaction: all of it or nothing. A session that was deleted meanwhile stays deleted, also when
# the outcome that opened it comes a second time.
_STORE_OUTCOME = """
with known as (
    update conversations.sessions
    set updated_at = greatest(updated_at, $9), title = case when title = '' then $5 else title end
    where session_id = $1 and user_id = $3 and not $2
    returning session_id
), opened as (
    insert into conversations.sessions (session_id, user_id, title, params, supp_id, created_at, updated_at)
    select $1, $3, $5, $4, $6, $8, $9
    where $2 and not exists (select from conversations.questions where question_id = $7 and is_settled)
    on conflict (session_id) do update set updated_at = greatest(conversations.sessions.updated_at, $9)
        where conversations.sessions.user_id = $3
    returning session_id
), stored as (
    insert into conversations.interactions
        (question_id, session_id, user_id, asked_at, status, question, answer, record)
    select $7, session_id, $3, $8, $10, $11, $12, $13 from (select * from known union select * from opened) as target
    on conflict (question_id) do nothing
    returning question_id
), cited as (
    insert into conversations.citations (question_id, number, kb_id, doc_id, page, quotes)
    select question_id, number, kb_id, doc_id, page, quotes
    from stored, unnest($14::int[], $15::text[], $16::uuid[], $17::int[], $18::jsonb[])
        as citation (number, kb_id, doc_id, page, quotes)
), settled as (
    update conversations.questions set is_settled = true where question_id = $7
)
select exists (select from stored) or exists (select from conversations.interactions where question_id = $7)
    as is_stored
"""

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
order by asked_at desc, question_id desc
limit $2
"""

_INTERACTIONS = """
select record, asked_at, question_id from conversations.interactions
where session_id = $1 and ($2::timestamptz is null or (asked_at, question_id) > ($2, $3))
order by asked_at, question_id
limit $4
"""

# One statement, so that an outcome that is being stored is either there or pending. A question that is settled and
# has neither outcome nor problem lost them with its session.
_INTERACTION = """
select record, questions.*
from (values ($1::uuid, $2::text)) as wanted (question_id, user_id)
left join conversations.interactions using (question_id, user_id)
left join conversations.questions using (question_id, user_id)
where record is not null or problem is not null or not is_settled
"""

# Questions whose time is over. One with an outcome was only not marked as settled, because record and outcome
# were written side by side.
_UNSETTLED = """
select * from conversations.questions
where not is_settled and deadline < $1
    and not exists (select from conversations.interactions where interactions.question_id = questions.question_id)
order by deadline
limit $2
"""

_SETTLE_ANSWERED = """
update conversations.questions set is_settled = true
where not is_settled and deadline < $1
    and exists (select from conversations.interactions where interactions.question_id = questions.question_id)
"""


class ConversationStore:
    """Sessions, questions and outcomes; raises TransientError when a later try can succeed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record_question(self, event: QuestionAsked) -> None:
        """Put a question on record; a second time changes nothing."""
        await self._database.execute(
            _RECORD_QUESTION,
            event.question_id,
            event.asker,
            event.user.user_id,
            _json(event.user),
            event.session_id,
            orjson.dumps(event.kb_ids or ()).decode(),
            clean(event.question),
            event.occurred_at,
            event.deadline,
        )

    async def record_rejection(self, event: QuestionRejected) -> bool:
        """Put a rejection on record, with its reason; False when the question has an outcome already."""
        user_id, identity = (event.user.user_id, _json(event.user)) if event.user else ("", "{}")
        await self._database.execute(
            _RECORD_REJECTION,
            event.question_id,
            event.asker,
            user_id,
            identity,
            clean(event.question),
            event.occurred_at,
            event.deadline,
            _json(event.problem),
        )
        row = await self._database.row(_IS_REJECTED, event.question_id)
        return row is not None

    async def store_outcome(self, event: InteractionFinished) -> bool:
        """Store an outcome with its session and citations, all or nothing; the first outcome of a question wins.

        False when there is nothing to read back, because its session is gone.
        """
        session, interaction = event.session, event.interaction
        citations = interaction.model_response.citations
        row = await self._database.row(
            _STORE_OUTCOME,
            session.session_id,
            session.is_new,
            event.user.user_id,
            _json(session.params),
            clean(session.title),
            clean(session.params.supp_id),
            event.question_id,
            interaction.user_input.at,
            interaction.model_response.at or event.occurred_at,
            interaction.status,
            clean(interaction.user_input.content),
            clean(interaction.model_response.content),
            _json(interaction),
            [citation.number for citation in citations],
            [citation.kb_id for citation in citations],
            [citation.doc_id for citation in citations],
            [citation.page for citation in citations],
            [_clean_json_text(_dump(citation.quotes)) for citation in citations],
        )
        return row is not None and bool(row["is_stored"])

    async def unsettled(self, before: datetime) -> list[QuestionAsked]:
        """Questions without an outcome whose deadline has passed, oldest first, a batch at a time."""
        await self._database.execute(_SETTLE_ANSWERED, before)
        return [_asked(row) for row in await self._database.rows(_UNSETTLED, before, SWEEP_BATCH)]

    async def create_session(self, session_id: UUID, user_id: str, title: str, params: SessionParams) -> Session:
        """Create a session; a second time changes nothing."""
        await self._database.execute(
            _CREATE_SESSION, session_id, user_id, clean(title), _json(params), clean(params.supp_id)
        )
        return await self.session(session_id, user_id)

    async def session(self, session_id: UUID, user_id: str) -> Session:
        """A session of this user; raises Refusal 404."""
        return await self._find(f"{_SESSION} where session_id = $1 and user_id = $2", session_id, user_id)

    async def _find(self, statement: str, session_id: UUID, user_id: str) -> Session:
        row = await self._database.row(statement, session_id, user_id)
        if row is None:
            raise not_found("session")
        return _session(row)

    async def rename_session(self, session_id: UUID, user_id: str, title: str) -> Session:
        """Give a session of this user another title; raises Refusal 404."""
        await self._database.execute(
            "update conversations.sessions set title = $3 where session_id = $1 and user_id = $2",
            session_id,
            user_id,
            clean(title),
        )
        return await self.session(session_id, user_id)

    async def delete_session(self, session_id: UUID, user_id: str) -> None:
        """Delete a session of this user with its interactions; raises Refusal 404."""
        rows = await self._database.rows(
            "delete from conversations.sessions where session_id = $1 and user_id = $2 returning session_id",
            session_id,
            user_id,
        )
        if not rows:
            raise not_found("session")

    async def list_sessions(
        self, user_id: str, supp_id: str | None, text: str | None, limit: int, cursor: str | None
    ) -> SessionPage:
        """This user's sessions, newest change first."""
        at, last = _read_cursor(cursor)
        pattern = None if text is None else f"%{_escape_like(clean(text))}%"
        label = None if supp_id is None else clean(supp_id)
        rows = await self._database.rows(_LIST_SESSIONS, user_id, label, pattern, at, last, limit + 1)
        sessions = tuple(_session(row) for row in rows[:limit])
        more = _cursor(sessions[-1].updated_at, sessions[-1].session_id) if len(rows) > limit else None
        return SessionPage(sessions=sessions, next_cursor=more)

    async def context(self, session_id: UUID, user_id: str, turns: int) -> SessionContext:
        """A session of this user with its newest turns, oldest first; raises Refusal 404."""
        session = await self._find(_CONTEXT, session_id, user_id)
        rows = await self._database.rows(_TURNS, session_id, turns) if turns else []
        newest_last = tuple(Turn(question=row["question"], answer=row["answer"]) for row in reversed(rows))
        return SessionContext(session=session, turns=newest_last)

    async def read_session(self, session_id: UUID, user_id: str, limit: int, cursor: str | None) -> InteractionPage:
        """A session of this user with a page of its interactions, oldest first; raises Refusal 404."""
        session = await self.session(session_id, user_id)
        at, last = _read_cursor(cursor)
        rows = await self._database.rows(_INTERACTIONS, session_id, at, last, limit + 1)
        more = _cursor(rows[limit - 1]["asked_at"], rows[limit - 1]["question_id"]) if len(rows) > limit else None
        interactions = tuple(Interaction.model_validate_json(row["record"]) for row in rows[:limit])
        return InteractionPage(session=session, interactions=interactions, next_cursor=more)

    async def interaction(self, question_id: UUID, user_id: str) -> Interaction:
        """The outcome of this user's question, or that it is pending or was rejected; raises Refusal 404."""
        row = await self._database.row(_INTERACTION, question_id, user_id)
        if row is None:
            raise not_found("question")
        return Interaction.model_validate_json(row["record"]) if row["record"] else _without_outcome(row)


def _json(message: Message | SessionParams) -> str:
    return _clean_json_text(message.model_dump_json())


def _dump(messages: tuple[Message, ...]) -> str:
    return f"[{','.join(message.model_dump_json() for message in messages)}]"


def _clean_json_text(json: str) -> str:
    # The net under what services clean themselves: Postgres takes no NUL, and one would fail the whole outcome.
    return orjson.dumps(clean_json(orjson.loads(json))).decode() if "\\u0000" in json else json


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


def _asked(row: "Record") -> QuestionAsked:
    # Not validated a second time: the text was when it came, and cleaning it may have left nothing.
    return QuestionAsked.model_construct(
        question_id=row["question_id"],
        deadline=row["deadline"],
        occurred_at=row["asked_at"],
        asker=row["asker"],
        user=User.model_validate_json(row["identity"]),
        question=row["question"],
        session_id=row["session_id"],
        kb_ids=tuple(orjson.loads(row["kb_ids"])),
    )


def _without_outcome(row: "Record") -> Interaction:
    problem = orjson.loads(row["problem"]) if row["problem"] else None
    return Interaction(
        question_id=row["question_id"],
        session_id=row["session_id"] or new_session_id(row["question_id"]),
        status=InteractionStatus.FAILED if problem else InteractionStatus.PENDING,
        user_input=UserInput(content=row["question"], at=row["asked_at"]),
        degraded=(problem["detail"] or problem["title"]) if problem else None,
    )


def _cursor(at: datetime, last: UUID) -> str:
    return base64.urlsafe_b64encode(f"{at.isoformat()} {last}".encode()).decode()


def _read_cursor(cursor: str | None) -> tuple[datetime | None, UUID | None]:
    if cursor is None:
        return None, None
    try:
        at, _, last = base64.urlsafe_b64decode(cursor).decode().rpartition(" ")
        return datetime.fromisoformat(at).astimezone(UTC), UUID(last)
    except (ValueError, OverflowError) as error:
        raise invalid("cursor", "is not one that this service gave") from error


def _escape_like(text: str) -> str:
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
