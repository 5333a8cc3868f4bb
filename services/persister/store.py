"""The SQL of questions and their outcomes: what was asked, by whom, and how it ended, once."""

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

import asyncpg
import orjson

from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected
from citewire.contracts.identity import User
from citewire.contracts.problems import Problem
from citewire.contracts.requests import InteractionReply
from citewire.contracts.sessions import (
    Interaction,
    InteractionStatus,
    SessionParams,
    SessionRef,
    UserInput,
    new_session_id,
)
from citewire.runtime.database import Database
from citewire.runtime.errors import not_found
from citewire.text.normalise import clean
from persister.encoding import list_to_json, to_json

if TYPE_CHECKING:
    Record = asyncpg.Record

SWEEP_BATCH = 100

# An outcome that came first has put its question on record; what only the question says follows. No answer may take
# longer than an hour: a deadline beyond, which another service may set, would never let the question end.
_RECORD_QUESTION = """
insert into conversations.questions as known
    (question_id, asker, user_id, identity, session_id, kb_ids, params, question, asked_at, deadline, fingerprint)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, least($10, now() + interval '65 minutes'), $11)
on conflict (question_id) do update set kb_ids = excluded.kb_ids, params = excluded.params, fingerprint = $11
where known.fingerprint = '' and known.asker = $2 and known.user_id = $3
"""

# Only what is on record as the same question is rejected, and only if it has no outcome.
_RECORD_REJECTION = """
insert into conversations.questions as known
    (question_id, asker, user_id, identity, kb_ids, question, asked_at, deadline, fingerprint, problem, is_settled)
values ($1, $2, $3, $4, '[]', $5, $6, $7, $8, $9, true)
on conflict (question_id) do update set problem = excluded.problem, is_settled = true
where known.asker = $2 and known.fingerprint = $8 and (known.problem is not null or not known.is_settled)
returning sequence
"""

# One statement, one transaction: all of it or nothing. Only the outcome that settles its question, which Postgres lets
# one do, stores anything. A session that was deleted meanwhile stays deleted, also when the outcome that opened it
# comes a second time.
_STORE_OUTCOME = """
with settled as (
    insert into conversations.questions as known
        (question_id, asker, user_id, identity, session_id, kb_ids, question, asked_at, deadline, is_settled)
    values ($7, $19, $3, $20, case when $2 then null else $1::uuid end, $4::jsonb -> 'kb_ids', $11, $8, $21, true)
    on conflict (question_id) do update set is_settled = true where not known.is_settled
    returning sequence
), known as (
    update conversations.sessions
    set updated_at = greatest(updated_at, $9), title = case when title = '' then $5 else title end
    from settled
    where session_id = $1 and user_id = $3 and not $2
    returning session_id
), opened as (
    insert into conversations.sessions (session_id, user_id, title, params, supp_id, created_at, updated_at)
    select $1, $3, $5, $4, $6, $8, $9 from settled where $2
    on conflict (session_id) do update set updated_at = greatest(conversations.sessions.updated_at, $9)
        where conversations.sessions.user_id = $3
    returning session_id
), stored as (
    insert into conversations.interactions
        (question_id, session_id, user_id, asked_at, status, question, answer, record, sequence)
    select $7, session_id, $3, $8, $10, $11, $12, $13, sequence
    from settled, (select * from known union select * from opened) as target
    returning question_id
), cited as (
    insert into conversations.citations (question_id, number, kb_id, doc_id, page, quotes)
    select question_id, number, kb_id, doc_id, page, quotes
    from stored, unnest($14::int[], $15::text[], $16::uuid[], $17::int[], $18::jsonb[])
        as citation (number, kb_id, doc_id, page, quotes)
)
select case when exists (select from stored) then $10 else coalesce(
    (select status from conversations.interactions where question_id = $7),
    (select 'failed' from conversations.questions where question_id = $7 and problem is not null)
) end as status
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

_OUTCOME = """
select questions.*, record, title, sessions.params as session_params
from conversations.questions
left join conversations.interactions using (question_id)
left join conversations.sessions on sessions.session_id = interactions.session_id
where question_id = $1 and asker = $2 and (record is not null or problem is not null)
"""

_UNSETTLED = """
select * from conversations.questions
where not is_settled and deadline < $1 and ($2::timestamptz is null or asked_at > $2)
order by deadline
limit $3
"""


class OutcomeStore:
    """Questions and outcomes; raises TransientError when a later try can succeed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record_question(self, event: QuestionAsked, user: User) -> None:
        """Put a question of `user` on record; another one with its id changes nothing."""
        await self._database.execute(
            _RECORD_QUESTION,
            event.question_id,
            event.asker,
            user.user_id,
            to_json(user),
            event.session_id,
            orjson.dumps(event.scope).decode(),
            to_json(event.params) if event.params else None,
            clean(event.question),
            event.occurred_at,
            event.deadline,
            event.fingerprint,
        )

    async def record_rejection(self, event: QuestionRejected) -> bool:
        """Put a rejection on record, with its reason; False if it is of another question, or one with an outcome."""
        row = await self._database.row(
            _RECORD_REJECTION,
            event.question_id,
            event.asker,
            event.user.user_id if event.user else "",
            to_json(event.user) if event.user else "{}",
            clean(event.question),
            event.asked_at or event.occurred_at,
            event.deadline,
            event.fingerprint,
            to_json(event.problem),
        )
        return row is not None

    async def store_outcome(self, event: InteractionFinished) -> InteractionStatus | None:
        """Store an outcome with its session and citations, all or nothing; the first outcome of a question wins.

        Answers the status that is on record now; None when there is nothing to read back, because the session is gone.
        """
        session, interaction = event.session, event.interaction
        citations = interaction.model_response.citations
        row = await self._database.row(
            _STORE_OUTCOME,
            session.session_id,
            session.is_new,
            event.user.user_id,
            to_json(session.params),
            clean(session.title),
            clean(session.params.supp_id),
            event.question_id,
            interaction.user_input.at,
            interaction.model_response.at or event.occurred_at,
            interaction.status,
            clean(interaction.user_input.content),
            clean(interaction.model_response.content),
            to_json(interaction),
            [citation.number for citation in citations],
            [citation.kb_id for citation in citations],
            [citation.doc_id for citation in citations],
            [citation.page for citation in citations],
            [list_to_json(citation.quotes) for citation in citations],
            event.asker,
            to_json(event.user),
            event.deadline,
        )
        return InteractionStatus(row["status"]) if row and row["status"] else None

    async def unsettled(self, before: datetime, asked_after: datetime | None = None) -> list[QuestionAsked]:
        """Questions without an outcome whose deadline has passed, oldest first, a batch at a time."""
        return [_asked(row) for row in await self._database.rows(_UNSETTLED, before, asked_after, SWEEP_BATCH)]

    async def interaction(self, question_id: UUID, user_id: str) -> InteractionReply:
        """The outcome of this user's question, or that it is pending or was rejected; raises Refusal 404."""
        row = await self._database.row(_INTERACTION, question_id, user_id)
        if row is None:
            raise not_found("question")
        interaction = Interaction.model_validate_json(row["record"]) if row["record"] else _without_outcome(row)
        return InteractionReply(interaction=interaction, fingerprint=row["fingerprint"] or "")

    async def outcome(self, question_id: UUID, asker: str) -> InteractionFinished | QuestionRejected:
        """The recorded outcome of a question of this asker, as it was published; raises Refusal 404 without one."""
        row = await self._database.row(_OUTCOME, question_id, asker)
        if row is None:
            raise not_found("outcome")
        return _finished(row) if row["record"] else _rejected(row)


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
        params=SessionParams.model_validate_json(row["params"]) if row["params"] else None,
    )


def _without_outcome(row: "Record") -> Interaction:
    problem = Problem.model_validate_json(row["problem"]) if row["problem"] else None
    return Interaction(
        question_id=row["question_id"],
        session_id=row["session_id"] or new_session_id(row["question_id"]),
        status=InteractionStatus.FAILED if problem else InteractionStatus.PENDING,
        user_input=UserInput(content=row["question"], at=row["asked_at"]),
        degraded=(problem.detail or problem.title) if problem else None,
    )


def _finished(row: "Record") -> InteractionFinished:
    interaction = Interaction.model_validate_json(row["record"])
    return InteractionFinished(
        question_id=row["question_id"],
        deadline=row["deadline"],
        asker=row["asker"],
        user=User.model_validate_json(row["identity"]),
        session=SessionRef(
            session_id=interaction.session_id,
            is_new=row["session_id"] is None,
            title=row["title"],
            params=SessionParams.model_validate_json(row["session_params"]),
        ),
        interaction=interaction,
    )


def _rejected(row: "Record") -> QuestionRejected:
    return QuestionRejected(
        question_id=row["question_id"],
        deadline=row["deadline"],
        asker=row["asker"],
        user=User.model_validate_json(row["identity"]) if row["user_id"] else None,
        question=row["question"],
        fingerprint=row["fingerprint"],
        asked_at=row["asked_at"],
        problem=Problem.model_validate_json(row["problem"]),
    )
