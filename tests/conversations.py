"""Questions and outcomes for the tests of the persister, and ways to look at what became of them."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg

from builders import source
from citewire.contracts.answers import DoneFrame, EntryKind, SourcesFrame
from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected, now
from citewire.contracts.evidence import Citation, Quality, QualityLevel, Quote, Verdict
from citewire.contracts.identity import User
from citewire.contracts.problems import Problem
from citewire.contracts.sessions import (
    Interaction,
    InteractionStatus,
    ModelResponse,
    SessionParams,
    SessionRef,
    UserInput,
    new_session_id,
)
from citewire.contracts.streams import OUTCOMES
from citewire.runtime.answer_log import AnswerLog, Lease, encode_deltas, encode_entry, split_entry
from citewire.runtime.bus import Bus
from persister.store import OutcomeStore

ASKED_AT = datetime(2024, 2, 29, 12, tzinfo=UTC)
STORED = ['stored {"status":"finished"}']

FAILED: dict[str, Any] = {"status": InteractionStatus.FAILED, "degraded": "the model is away"}

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


def asked(question: str = "How high?", *, seconds: float = 60, **fields: object) -> QuestionAsked:
    values = {
        "question_id": uuid4(),
        "deadline": now() + timedelta(seconds=seconds),
        "occurred_at": ASKED_AT,
        "asker": "web",
        "user": User(user_id="ann"),
        "question": question,
        "kb_ids": ("kb",),
    }
    return QuestionAsked.model_validate(values | fields)


def outcome_of(
    question: QuestionAsked,
    answer: str = "Ten metres.",
    *,
    at: datetime = ASKED_AT,
    citations: tuple[Citation, ...] = (),
    **interaction: Any,
) -> InteractionFinished:
    session_id = question.session_id or new_session_id(question.question_id)
    values = {
        "question_id": question.question_id,
        "session_id": session_id,
        "status": InteractionStatus.FINISHED,
        "user_input": UserInput(content=question.question, at=question.occurred_at),
        "model_response": ModelResponse(content=answer, citations=citations, at=at),
        "elapsed_ms": {"total": 12.5},
    }
    return InteractionFinished(
        question_id=question.question_id,
        deadline=question.deadline,
        asker=question.asker,
        user=question.user,
        session=SessionRef(
            session_id=session_id,
            is_new=question.session_id is None,
            title="How high?",
            params=SessionParams(kb_ids=("kb",)),
        ),
        interaction=Interaction.model_validate(values | interaction),
    )


def in_session(event: InteractionFinished, **fields: object) -> InteractionFinished:
    """The outcome with another title or other parameters of its session."""
    return event.model_copy(update={"session": event.session.model_copy(update=fields)})


def outcome(answer: str = "Ten metres.", **fields: Any) -> InteractionFinished:
    return outcome_of(asked(), answer, **fields)


def follow_up(first: InteractionFinished, number: int, answer: str = "Yes.") -> InteractionFinished:
    at = ASKED_AT + timedelta(minutes=number)
    question = asked(f"question {number}", session_id=first.session.session_id, occurred_at=at)
    return outcome_of(question, answer, at=at)


def citation(number: int, quoted: str = "ten metres") -> Citation:
    quote = Quote(
        answer_start=0, answer_end=3, cited_text=quoted, start=0, end=len(quoted), page=2, verdict=Verdict.EXACT
    )
    return Citation(number=number, kb_id="kb", doc_id=uuid4(), page=2, quotes=(quote,))


def rejected(question: QuestionAsked, **fields: object) -> QuestionRejected:
    rejection = QuestionRejected(
        question_id=question.question_id,
        deadline=question.deadline,
        asker=question.asker,
        user=question.user,
        question=question.question,
        fingerprint=question.fingerprint,
        problem=Problem(type="not-found", title="Not found", status=404, detail="There is no such session."),
    )
    return rejection.model_copy(update=fields)


async def record(store: OutcomeStore, question: QuestionAsked) -> None:
    await store.record_question(question, question.user)


async def read(store: OutcomeStore, question_id: UUID, user_id: str) -> Interaction:
    return (await store.interaction(question_id, user_id)).interaction


async def count(connection: Connection, table: str) -> int:
    return int(await connection.fetchval(f"select count(*) from conversations.{table}"))  # noqa: S608 - our names


async def counts(connection: Connection) -> tuple[int, int, int]:
    """How many sessions, interactions and citations there are."""
    sessions, interactions, citations = [
        await count(connection, table) for table in ("sessions", "interactions", "citations")
    ]
    return sessions, interactions, citations


async def is_settled(connection: Connection, question: QuestionAsked) -> bool:
    row = await connection.fetchrow(
        "select * from conversations.questions where question_id = $1", question.question_id
    )
    assert row is not None
    return bool(row["is_settled"])


async def entries(log: AnswerLog, question_id: UUID) -> list[tuple[EntryKind, str]]:
    return [split_entry(entry) for entry in await log.read(question_id, 0)]


async def open_log(log: AnswerLog, question: QuestionAsked) -> None:
    """What the gateway does before it publishes a question."""
    await log.open(question.question_id, question.user.user_id, question.fingerprint, question.deadline)


async def begin_log(log: AnswerLog, question: QuestionAsked, *texts: str) -> Lease:
    """What a generator writes before it dies: sources and these texts."""
    lease = await log.claim(question.question_id, question.user.user_id, 60)
    sources = SourcesFrame(
        question_id=question.question_id,
        queries=(),
        sources=(source(1, "It is ten metres high."),),
        legs=(),
        quality=Quality(level=QualityLevel.OK, reason="It says so."),
    )
    await log.append(lease, [encode_entry(EntryKind.SOURCES, sources), *encode_deltas(texts)], 0)
    return lease


async def end_log(log: AnswerLog, event: InteractionFinished) -> None:
    """What the generator does before it publishes an outcome."""
    lease = await log.claim(event.question_id, event.user.user_id, 60)
    done = DoneFrame(
        session_id=event.session.session_id, question_id=event.question_id, status=event.interaction.status
    )
    await log.append(lease, [encode_entry(EntryKind.END, done)], len(lease.entries), is_end=True)


async def published(bus: Bus) -> list[InteractionFinished]:
    """The outcomes on the stream."""
    state = (await bus.js.stream_info(OUTCOMES)).state
    messages = [await bus.js.get_msg(OUTCOMES, seq) for seq in range(state.first_seq, state.last_seq + 1)]
    return [InteractionFinished.model_validate_json(message.data or b"") for message in messages]
