"""The persister's store and stages on a real Postgres and Redis: stored once, whole, and for its owner only."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg
import psycopg
import pytest

import persister.store
from builders import source
from citewire.contracts.answers import DoneFrame, EntryKind
from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected, now
from citewire.contracts.evidence import Citation, Quote, Verdict
from citewire.contracts.identity import User
from citewire.contracts.problems import Problem
from citewire.contracts.requests import (
    CreateSession,
    DeleteSession,
    GetInteraction,
    GetSessionContext,
    ListSessions,
    ReadSession,
    RenameSession,
)
from citewire.contracts.sessions import (
    Interaction,
    InteractionStatus,
    ModelResponse,
    SessionParams,
    SessionRef,
    Turn,
    UserInput,
    new_session_id,
)
from citewire.contracts.streams import OUTCOMES
from citewire.runtime.answer_log import AnswerLog, encode_entry, split_entry
from citewire.runtime.bus import Bus
from citewire.runtime.database import open_database
from citewire.runtime.errors import PermanentError, Refusal
from citewire.runtime.migrations import apply_migrations
from embedded.servers import ServerUrls
from persister.app import MIGRATIONS
from persister.handlers import Archivist, Recorder
from persister.settings import Settings
from persister.store import ConversationStore
from persister.sweep import Sweeper
from waiting import until_found

ASKED_AT = datetime(2024, 2, 29, 12, tzinfo=UTC)
STORED = ["stored {}"]

FAILED = {"status": InteractionStatus.FAILED, "degraded": "the model is away"}

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture(scope="module")
def migrated(servers: ServerUrls) -> Iterator[str]:
    """One database for all tests here: making one takes longer than a test does."""
    name = f"conversations_{uuid4().hex}"
    dsn = servers.postgres.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(servers.postgres, autocommit=True) as admin:
        admin.execute(f'create database "{name}"')
        apply_migrations(dsn, "conversations", MIGRATIONS)
        yield dsn
        admin.execute(f'drop database "{name}" with (force)')


@pytest.fixture
async def store(migrated: str) -> AsyncGenerator[ConversationStore]:
    """A store without any conversations."""
    async with open_database(migrated) as pool:
        await pool.execute("delete from conversations.sessions")
        await pool.execute("delete from conversations.questions")
        yield ConversationStore(pool)


@pytest.fixture
async def connection(migrated: str, store: ConversationStore) -> AsyncGenerator[Connection]:
    """Another view on the store's database."""
    connection = await asyncpg.connect(migrated)
    yield connection
    await connection.close()


@pytest.fixture
def archivist(store: ConversationStore) -> Archivist:
    return Archivist(store)


@pytest.fixture
def recorder(store: ConversationStore, answer_log: AnswerLog) -> Recorder:
    return Recorder(store, answer_log)


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


def rejected(question: QuestionAsked) -> QuestionRejected:
    return QuestionRejected(
        question_id=question.question_id,
        deadline=question.deadline,
        asker=question.asker,
        user=question.user,
        question=question.question,
        problem=Problem(type="not-found", title="Not found", status=404, detail="There is no such session."),
    )


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


async def end_log(log: AnswerLog, event: InteractionFinished) -> None:
    """What the generator does before it publishes an outcome."""
    lease = await log.claim(event.question_id, event.user.user_id, 60)
    done = DoneFrame(
        session_id=event.session.session_id, question_id=event.question_id, status=event.interaction.status
    )
    await log.append(lease, [encode_entry(EntryKind.END, done)], is_end=True)


# Outcomes


async def test_an_outcome_reads_back_equal(store: ConversationStore) -> None:
    event = outcome(citations=(citation(1), citation(3)), sources=(source(1, "It is ten metres high."),))

    await store.store_outcome(event)

    assert await store.interaction(event.question_id, "ann") == event.interaction


async def test_an_outcome_brings_its_new_session(store: ConversationStore) -> None:
    event = in_session(outcome(), title="Heights", params=SessionParams(kb_ids=("kb",), top_k=3, supp_id="label"))

    await store.store_outcome(event)

    session = await store.session(event.session.session_id, "ann")
    assert (session.title, session.params, session.kb_ids) == ("Heights", event.session.params, ("kb",))
    assert (session.created_at, session.interactions) == (ASKED_AT, 1)


async def test_an_outcome_brings_its_citations(store: ConversationStore, connection: Connection) -> None:
    event = outcome(citations=(citation(1), citation(3)))

    await store.store_outcome(event)

    rows = await connection.fetch("select * from conversations.citations order by number")
    cited = event.interaction.model_response.citations
    assert [(row["number"], row["kb_id"], row["doc_id"], row["page"]) for row in rows] == [
        (citation.number, citation.kb_id, citation.doc_id, citation.page) for citation in cited
    ]
    assert [Quote.model_validate(quote) for quote in json.loads(rows[0]["quotes"])] == list(cited[0].quotes)


async def test_when_one_part_fails_nothing_is_stored(store: ConversationStore, connection: Connection) -> None:
    question = asked()
    await store.record_question(question)
    event = outcome_of(question, citations=(citation(1), citation(1)))

    with pytest.raises(PermanentError):
        await store.store_outcome(event)

    assert await counts(connection) == (0, 0, 0)
    assert not await is_settled(connection, question)


async def test_a_redelivered_outcome_is_stored_once(store: ConversationStore, connection: Connection) -> None:
    event = outcome(citations=(citation(1),))

    await store.store_outcome(event)
    await store.store_outcome(event)

    assert await counts(connection) == (1, 1, 1)


async def test_two_workers_with_the_same_outcome_store_it_once(
    store: ConversationStore, connection: Connection
) -> None:
    event = outcome(citations=(citation(1),))

    await asyncio.gather(*(store.store_outcome(event) for _ in range(4)))

    assert await counts(connection) == (1, 1, 1)


async def test_the_first_outcome_of_a_question_wins(store: ConversationStore, connection: Connection) -> None:
    question = asked()
    first = outcome_of(question, "first", citations=(citation(1),))

    await store.store_outcome(first)
    await store.store_outcome(outcome_of(question, "second", citations=(citation(2),)))

    assert await store.interaction(question.question_id, "ann") == first.interaction
    assert await connection.fetchval("select array_agg(number) from conversations.citations") == [1]


async def test_an_outcome_whose_session_was_deleted_meanwhile_stores_nothing(
    store: ConversationStore, connection: Connection
) -> None:
    first = outcome()
    await store.store_outcome(first)
    second = follow_up(first, 1)
    await store.delete_session(first.session.session_id, "ann")

    await store.store_outcome(second)

    assert await counts(connection) == (0, 0, 0)


async def test_a_redelivered_outcome_does_not_bring_a_deleted_session_back(
    store: ConversationStore, connection: Connection
) -> None:
    question = asked()
    await store.record_question(question)
    await store.store_outcome(outcome_of(question))
    await store.delete_session(new_session_id(question.question_id), "ann")

    await store.store_outcome(outcome_of(question))

    assert await counts(connection) == (0, 0, 0)


async def test_an_outcome_never_enters_the_session_of_somebody_else(
    store: ConversationStore, connection: Connection
) -> None:
    first = outcome()
    await store.store_outcome(first)
    question = asked(session_id=first.session.session_id, user=User(user_id="bob"))

    await store.store_outcome(outcome_of(question))

    assert await count(connection, "interactions") == 1


async def test_the_first_question_names_an_untitled_session(store: ConversationStore) -> None:
    session = await store.create_session(uuid4(), "ann", "", SessionParams())
    question = asked(session_id=session.session_id)

    await store.store_outcome(outcome_of(question))

    assert (await store.session(session.session_id, "ann")).title == "How high?"


async def test_a_later_question_leaves_the_title(store: ConversationStore) -> None:
    first = in_session(outcome(), title="Heights")
    await store.store_outcome(first)

    await store.store_outcome(follow_up(first, 1))

    assert (await store.session(first.session.session_id, "ann")).title == "Heights"


# The audit


async def test_the_audit_outlives_its_session(store: ConversationStore, connection: Connection) -> None:
    question = asked()
    await store.record_question(question)
    await store.store_outcome(outcome_of(question))

    await store.delete_session(new_session_id(question.question_id), "ann")

    assert await connection.fetchval("select question from conversations.questions") == question.question
    assert await counts(connection) == (0, 0, 0)


async def test_an_outcome_settles_its_question(store: ConversationStore, connection: Connection) -> None:
    question = asked()
    await store.record_question(question)

    await store.store_outcome(outcome_of(question))

    assert await is_settled(connection, question)


async def test_a_question_recorded_after_its_outcome_is_settled_at_once(
    store: ConversationStore, connection: Connection
) -> None:
    question = asked()
    await store.store_outcome(outcome_of(question))

    await store.record_question(question)

    assert await is_settled(connection, question)


async def test_a_redelivered_question_is_recorded_once(store: ConversationStore, connection: Connection) -> None:
    question = asked()

    await store.record_question(question)
    await store.record_question(question)

    assert await count(connection, "questions") == 1


async def test_a_question_without_an_outcome_is_pending(store: ConversationStore, archivist: Archivist) -> None:
    question = asked()
    await store.record_question(question)

    reply = await archivist.get_interaction(GetInteraction(question_id=question.question_id, user_id="ann"))

    assert reply.interaction.status is InteractionStatus.PENDING
    assert reply.interaction.session_id == new_session_id(question.question_id)
    assert reply.interaction.user_input == UserInput(content=question.question, at=ASKED_AT)


async def test_a_question_whose_session_is_deleted_is_not_pending_but_gone(
    store: ConversationStore, archivist: Archivist
) -> None:
    question = asked()
    await store.record_question(question)
    await store.store_outcome(outcome_of(question))
    await store.delete_session(new_session_id(question.question_id), "ann")

    with pytest.raises(Refusal) as refused:
        await archivist.get_interaction(GetInteraction(question_id=question.question_id, user_id="ann"))

    assert refused.value.problem.status == 404


# Text


async def test_g01_nul_is_dropped_from_every_text_and_the_rest_is_stored(
    store: ConversationStore, connection: Connection
) -> None:
    question = asked("wh\0y?")
    event = outcome_of(
        question,
        "bec\0ause",
        citations=(citation(1, "quo\0ted"),),
        sources=(source(1, "sou\0rce"),),
    )

    await store.record_question(question)
    await store.store_outcome(in_session(event, title="wh\0y"))

    record = await store.interaction(question.question_id, "ann")
    assert (record.user_input.content, record.model_response.content) == ("why?", "because")
    assert record.sources[0].text == "source"
    assert record.model_response.citations[0].quotes[0].cited_text == "quoted"
    assert (await store.session(event.session.session_id, "ann")).title == "why"
    assert await connection.fetchval("select question from conversations.questions") == "why?"
    assert "quoted" in await connection.fetchval("select quotes::text from conversations.citations")


async def test_g01_nul_in_a_label_to_list_by_is_dropped(store: ConversationStore, archivist: Archivist) -> None:
    await store.create_session(uuid4(), "ann", "", SessionParams(supp_id="la\0bel"))

    page = await archivist.list_sessions(ListSessions(user_id="ann", supp_id="la\0bel", text="\0"))

    assert [session.params.supp_id for session in page.sessions] == ["label"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ok 😀 𝐀", id="g03_emoji"),
        pytest.param("if a<b and c>d", id="g07_angle_brackets"),
        pytest.param(r"a literal \u0000 and C:\users", id="backslashes"),
        pytest.param("مرحبا 世界 e\u0301", id="other_scripts"),
    ],
)
async def test_g03_g07_text_is_stored_unchanged(store: ConversationStore, text: str) -> None:
    question = asked(text)
    event = outcome_of(question, text, citations=(citation(1, text),), sources=(source(1, text),))

    await store.store_outcome(in_session(event, title=text))

    session_id = event.session.session_id
    assert await store.interaction(question.question_id, "ann") == event.interaction
    assert (await store.context(session_id, "ann", 1)).turns == (Turn(question=text, answer=text),)
    assert (await store.session(session_id, "ann")).title == text


# The answer log


async def test_a_stored_outcome_is_marked_in_its_log(recorder: Recorder, answer_log: AnswerLog) -> None:
    event = outcome()
    await end_log(answer_log, event)

    await recorder.store_outcome(event)

    assert await answer_log.read(event.question_id, 1) == STORED


async def test_a_redelivered_outcome_is_marked_once(recorder: Recorder, answer_log: AnswerLog) -> None:
    event = outcome()
    await end_log(answer_log, event)

    await recorder.store_outcome(event)
    await recorder.store_outcome(event)

    assert await answer_log.read(event.question_id, 1) == STORED


async def test_p2_nothing_is_marked_as_stored_before_it_is_committed(
    recorder: Recorder, store: ConversationStore, answer_log: AnswerLog, connection: Connection
) -> None:
    event = outcome()
    await end_log(answer_log, event)
    async with connection.transaction():
        await connection.execute("lock table conversations.citations in exclusive mode")
        storing = asyncio.create_task(recorder.store_outcome(event))
        await until_found(lambda: someone_waits_for_a_lock(connection))

        before_commit = await answer_log.read(event.question_id, 1)

    await storing
    assert before_commit == []
    assert await answer_log.read(event.question_id, 1) == STORED
    assert await store.interaction(event.question_id, "ann") == event.interaction


async def someone_waits_for_a_lock(connection: Connection) -> bool:
    return bool(await connection.fetchval("select exists (select from pg_locks where not granted)"))


async def test_p2_an_outcome_that_cannot_be_stored_is_not_marked(recorder: Recorder, answer_log: AnswerLog) -> None:
    event = outcome(citations=(citation(1), citation(1)))
    await end_log(answer_log, event)

    with pytest.raises(PermanentError):
        await recorder.store_outcome(event)

    assert await answer_log.read(event.question_id, 1) == []


async def test_p2_an_outcome_whose_session_is_gone_is_not_marked(
    recorder: Recorder, store: ConversationStore, answer_log: AnswerLog
) -> None:
    first = outcome()
    await store.store_outcome(first)
    second = follow_up(first, 1)
    await end_log(answer_log, second)
    await store.delete_session(first.session.session_id, "ann")

    await recorder.store_outcome(second)

    assert await answer_log.read(second.question_id, 1) == []


async def test_a_failed_outcome_ends_its_log(recorder: Recorder, answer_log: AnswerLog) -> None:
    event = outcome("", **FAILED)

    await recorder.store_outcome(event)

    (end, end_json), (stored, _) = await entries(answer_log, event.question_id)
    done = DoneFrame.model_validate_json(end_json)
    assert (end, stored) == (EntryKind.END, EntryKind.STORED)
    assert (done.status, done.degraded) == (InteractionStatus.FAILED, "the model is away")
    assert done.session_id == event.session.session_id


async def test_a_log_that_has_its_end_gets_no_second_one(recorder: Recorder, answer_log: AnswerLog) -> None:
    event = outcome("", **FAILED)
    await end_log(answer_log, event)

    await recorder.store_outcome(event)

    kinds = [kind for kind, _ in await entries(answer_log, event.question_id)]
    assert kinds == [EntryKind.END, EntryKind.STORED]


async def test_a_rejection_is_on_record_with_its_reason(recorder: Recorder, archivist: Archivist) -> None:
    question = asked()
    await recorder.record_question(question)

    await recorder.record_rejection(rejected(question))

    reply = await archivist.get_interaction(GetInteraction(question_id=question.question_id, user_id="ann"))
    assert reply.interaction.status is InteractionStatus.FAILED
    assert reply.interaction.degraded == "There is no such session."


async def test_a_rejection_that_overtakes_its_question_stays(recorder: Recorder, store: ConversationStore) -> None:
    question = asked()
    await recorder.record_rejection(rejected(question))

    await recorder.record_question(question)

    assert (await store.interaction(question.question_id, "ann")).status is InteractionStatus.FAILED


async def test_a_rejection_ends_its_log(recorder: Recorder, answer_log: AnswerLog) -> None:
    question = asked()

    await recorder.record_rejection(rejected(question))

    (end, end_json), (stored, _) = await entries(answer_log, question.question_id)
    assert (end, stored) == (EntryKind.END, EntryKind.STORED)
    assert DoneFrame.model_validate_json(end_json).degraded == "There is no such session."


# Whose it is

Ask = Callable[[Archivist, UUID, UUID], Any]


# One request of bob's for each thing of ann's.
REQUESTS_OF_ANOTHER_USER: dict[str, Ask] = {
    "context": lambda to, session, _: to.get_context(GetSessionContext(session_id=session, user_id="bob", turns=1)),
    "read": lambda to, session, _: to.read_session(ReadSession(session_id=session, user_id="bob")),
    "rename": lambda to, session, _: to.rename_session(RenameSession(session_id=session, user_id="bob", title="his")),
    "delete": lambda to, session, _: to.delete_session(DeleteSession(session_id=session, user_id="bob")),
    "create": lambda to, session, _: to.create_session(
        CreateSession(session_id=session, user_id="bob", params=SessionParams())
    ),
    "interaction": lambda to, _, question: to.get_interaction(GetInteraction(question_id=question, user_id="bob")),
}


@pytest.mark.parametrize("ask", list(REQUESTS_OF_ANOTHER_USER.values()), ids=list(REQUESTS_OF_ANOTHER_USER))
async def test_another_user_finds_nothing_and_changes_nothing(
    store: ConversationStore, archivist: Archivist, ask: Ask
) -> None:
    question = asked()
    await store.record_question(question)
    event = outcome_of(question)
    await store.store_outcome(event)
    before = await store.session(event.session.session_id, "ann")

    with pytest.raises(Refusal) as refused:
        await ask(archivist, event.session.session_id, event.question_id)

    assert refused.value.problem.status == 404
    assert await store.session(event.session.session_id, "ann") == before


async def test_another_user_does_not_find_a_pending_question(store: ConversationStore) -> None:
    question = asked()
    await store.record_question(question)

    with pytest.raises(Refusal) as refused:
        await store.interaction(question.question_id, "bob")

    assert refused.value.problem.status == 404


async def test_a_list_has_only_sessions_of_its_user(store: ConversationStore, archivist: Archivist) -> None:
    mine = await store.create_session(uuid4(), "ann", "mine", SessionParams())
    await store.create_session(uuid4(), "bob", "his", SessionParams())

    page = await archivist.list_sessions(ListSessions(user_id="ann"))

    assert page.sessions == (mine,)


# Follow-ups


async def test_a_context_has_the_newest_turns_oldest_first(store: ConversationStore, archivist: Archivist) -> None:
    first = outcome()
    await store.store_outcome(first)
    for number in (3, 1, 2):
        await store.store_outcome(follow_up(first, number, f"answer {number}"))

    request = GetSessionContext(session_id=first.session.session_id, user_id="ann", turns=2)
    context = await archivist.get_context(request)

    assert context.turns == tuple(Turn(question=f"question {n}", answer=f"answer {n}") for n in (2, 3))


async def test_a_turn_without_an_answer_is_no_turn(store: ConversationStore) -> None:
    first = outcome("Ten metres.")
    await store.store_outcome(first)
    await store.store_outcome(follow_up(first, 1, ""))

    context = await store.context(first.session.session_id, "ann", 5)

    assert [turn.answer for turn in context.turns] == ["Ten metres."]


async def test_a_context_without_turns_is_the_session(store: ConversationStore) -> None:
    first = outcome()
    await store.store_outcome(first)

    context = await store.context(first.session.session_id, "ann", 0)

    assert (context.session.session_id, context.turns) == (first.session.session_id, ())


MANY_INTERACTIONS = """
insert into conversations.interactions
select gen_random_uuid(), $1, 'ann', $2::timestamptz + n * interval '1 second', 'finished', 'q', 'a', '{}'
from generate_series(1, $3::int) as n
"""


async def test_the_turns_of_a_long_session_cost_what_those_of_a_short_one_do(
    store: ConversationStore, connection: Connection
) -> None:
    session = await store.create_session(uuid4(), "ann", "long", SessionParams())
    await connection.execute(MANY_INTERACTIONS, session.session_id, ASKED_AT, 2000)
    await connection.execute("analyze conversations.interactions")

    explained = await connection.fetchval(
        f"explain (analyze, format json) {persister.store._TURNS}", session.session_id, 8
    )

    scans = list(scans_of(json.loads(explained)[0]["Plan"]))
    assert [scan["Index Name"] for scan in scans] == ["interactions_of_session"]
    assert sum(scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0) for scan in scans) <= 9


def scans_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of a plan that read a table."""
    if "Scan" in plan["Node Type"]:
        yield plan
    for part in plan.get("Plans", ()):
        yield from scans_of(part)


# Lists


async def all_pages(archivist: Archivist, limit: int, **filters: str) -> list[UUID]:
    found: list[UUID] = []
    cursor: str | None = None
    while True:
        page = await archivist.list_sessions(ListSessions(user_id="ann", limit=limit, cursor=cursor, **filters))
        found += [session.session_id for session in page.sessions]
        if (cursor := page.next_cursor) is None:
            return found


async def test_pages_are_complete_and_distinct_when_all_change_at_the_same_time(
    store: ConversationStore, archivist: Archivist
) -> None:
    events = [outcome() for _ in range(7)]
    for event in events:
        await store.store_outcome(event)

    found = await all_pages(archivist, 2)

    assert len(found) == 7
    assert set(found) == {event.session.session_id for event in events}


async def test_sessions_come_newest_change_first(store: ConversationStore, archivist: Archivist) -> None:
    first, second = outcome(), outcome()
    await store.store_outcome(first)
    await store.store_outcome(second)
    await store.store_outcome(follow_up(first, 1))

    found = await all_pages(archivist, 1)

    assert found == [first.session.session_id, second.session.session_id]


async def test_the_pages_of_a_session_are_complete_and_oldest_first(
    store: ConversationStore, archivist: Archivist
) -> None:
    first = outcome()
    await store.store_outcome(first)
    numbers = [1, 1, 1, 2, 3]
    for number in numbers:
        await store.store_outcome(follow_up(first, number))

    found: list[Interaction] = []
    request: ReadSession | None = ReadSession(session_id=first.session.session_id, user_id="ann", limit=2)
    while request:
        page = await archivist.read_session(request)
        found += page.interactions
        request = request.model_copy(update={"cursor": page.next_cursor}) if page.next_cursor else None

    assert [interaction.user_input.content for interaction in found] == [
        "How high?",
        *(f"question {number}" for number in numbers),
    ]
    assert len({interaction.question_id for interaction in found}) == 6


BAD_CURSORS = {
    "no_base64": "%",
    "not_ascii": "é",
    "no_utf8": "_w==",
    "no_time": "eCB5",
    "time_out_of_range": persister.store._cursor(datetime.fromisoformat("0001-01-01T00:00:00+14:00"), uuid4()),
    "empty": "",
}


@pytest.mark.parametrize("cursor", list(BAD_CURSORS.values()), ids=list(BAD_CURSORS))
async def test_a_cursor_that_nobody_gave_is_refused(archivist: Archivist, cursor: str) -> None:
    with pytest.raises(Refusal) as refused:
        await archivist.list_sessions(ListSessions(user_id="ann", cursor=cursor))

    assert refused.value.problem.status == 422
    assert [error.field for error in refused.value.problem.errors] == ["cursor"]


@pytest.mark.parametrize(
    ("text", "found"),
    [("100%", "100% sure"), ("a_b", "a_b"), ("c\\d", "c\\d"), ("PERCENT", "100 percent")],
)
async def test_a_search_takes_its_text_literally(
    store: ConversationStore, archivist: Archivist, text: str, found: str
) -> None:
    for title in ("100% sure", "100 percent", "a_b", "axb", "c\\d", "cd"):
        await store.create_session(uuid4(), "ann", title, SessionParams())

    page = await archivist.list_sessions(ListSessions(user_id="ann", text=text))

    assert [session.title for session in page.sessions] == [found]


async def test_a_search_looks_into_questions(store: ConversationStore, archivist: Archivist) -> None:
    event = outcome_of(asked("Where is the lighthouse?"))
    await store.store_outcome(event)
    await store.store_outcome(outcome())

    page = await archivist.list_sessions(ListSessions(user_id="ann", text="lighthouse"))

    assert [session.session_id for session in page.sessions] == [event.session.session_id]


async def test_a_label_filters_the_list(store: ConversationStore, archivist: Archivist) -> None:
    labelled = await store.create_session(uuid4(), "ann", "", SessionParams(supp_id="label"))
    await store.create_session(uuid4(), "ann", "", SessionParams())

    page = await archivist.list_sessions(ListSessions(user_id="ann", supp_id="label"))

    assert page.sessions == (labelled,)


# The sweep


@pytest.fixture
def sweeper(bus: Bus, store: ConversationStore) -> Sweeper:
    return Sweeper(bus, store, Settings(sweep_grace=10))


async def published(bus: Bus) -> list[InteractionFinished]:
    """The outcomes on the stream."""
    state = (await bus.js.stream_info(OUTCOMES)).state
    messages = [await bus.js.get_msg(OUTCOMES, seq) for seq in range(state.first_seq, state.last_seq + 1)]
    return [InteractionFinished.model_validate_json(message.data or b"") for message in messages]


async def test_two_sweepers_end_an_expired_question_once(
    bus: Bus, store: ConversationStore, sweeper: Sweeper, migrated: str
) -> None:
    question = asked(seconds=-11)
    await store.record_question(question)

    async with open_database(migrated) as pool:
        other = Sweeper(bus, ConversationStore(pool), Settings(sweep_grace=10))
        ended = await asyncio.gather(sweeper.sweep(), other.sweep())

    (event,) = await published(bus)
    assert list(ended) == [1, 1]
    assert (event.question_id, event.interaction.status) == (question.question_id, InteractionStatus.FAILED)


async def test_a_question_that_was_ended_is_not_ended_again(
    bus: Bus, store: ConversationStore, sweeper: Sweeper
) -> None:
    await store.record_question(asked(seconds=-11))
    await sweeper.sweep()
    (event,) = await published(bus)
    await store.store_outcome(event)

    assert await sweeper.sweep() == 0


async def test_the_end_of_an_expired_question_is_what_its_user_reads(
    bus: Bus, store: ConversationStore, sweeper: Sweeper
) -> None:
    question = asked(seconds=-11)
    await store.record_question(question)
    await sweeper.sweep()
    (event,) = await published(bus)

    await store.store_outcome(event)

    read = await store.interaction(question.question_id, "ann")
    assert (read.status, read.degraded) == (InteractionStatus.FAILED, "no answer within the time limit")
    assert read.user_input == UserInput(content=question.question, at=ASKED_AT)


async def test_a_question_with_an_outcome_is_not_swept(bus: Bus, store: ConversationStore, sweeper: Sweeper) -> None:
    question = asked(seconds=-11)
    await store.record_question(question)
    await store.store_outcome(outcome_of(question))

    assert await sweeper.sweep() == 0
    assert await published(bus) == []


async def test_a_question_whose_settling_was_missed_is_settled_and_not_swept(
    bus: Bus, store: ConversationStore, sweeper: Sweeper, connection: Connection
) -> None:
    question = asked(seconds=-11)
    await store.store_outcome(outcome_of(question))
    await store.record_question(question)
    await connection.execute("update conversations.questions set is_settled = false")

    assert await sweeper.sweep() == 0
    assert await is_settled(connection, question)


@pytest.mark.parametrize("seconds", [60, -5], ids=["before_its_deadline", "within_the_grace"])
async def test_a_question_that_may_still_be_answered_is_not_swept(
    bus: Bus, store: ConversationStore, sweeper: Sweeper, seconds: float
) -> None:
    await store.record_question(asked(seconds=seconds))

    assert await sweeper.sweep() == 0
    assert await published(bus) == []


async def test_a_rejected_question_is_not_swept(bus: Bus, store: ConversationStore, sweeper: Sweeper) -> None:
    question = asked(seconds=-11)
    await store.record_question(question)
    await store.record_rejection(rejected(question))

    assert await sweeper.sweep() == 0


async def test_g01_a_question_of_nothing_but_nul_ends_too(bus: Bus, store: ConversationStore, sweeper: Sweeper) -> None:
    question = asked("\0", seconds=-11)
    await store.record_question(question)

    await sweeper.sweep()

    (event,) = await published(bus)
    assert event.question_id == question.question_id


async def test_a_running_sweeper_sweeps_at_intervals(bus: Bus, store: ConversationStore) -> None:
    await store.record_question(asked(seconds=-11))

    async def is_ended() -> bool:
        return len(await published(bus)) == 1

    async with Sweeper(bus, store, Settings(sweep_grace=10, sweep_interval=0.02)).running():
        await until_found(is_ended)
