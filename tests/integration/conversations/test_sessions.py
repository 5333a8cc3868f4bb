"""Sessions as their users list and read them, and nobody else."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

import persister.session_store
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
    SessionParams,
    Turn,
)
from citewire.runtime.errors import Refusal
from conversations import ASKED_AT, Connection, asked, follow_up, outcome, outcome_of, read, record
from persister.encoding import session_cursor
from persister.handlers import Archivist
from persister.session_store import SessionStore
from persister.store import OutcomeStore

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
    store: OutcomeStore, sessions: SessionStore, archivist: Archivist, ask: Ask
) -> None:
    question = asked()
    await record(store, question)
    event = outcome_of(question)
    await store.store_outcome(event)
    before = await sessions.session(event.session.session_id, "ann")

    with pytest.raises(Refusal) as refused:
        await ask(archivist, event.session.session_id, event.question_id)

    assert refused.value.problem.status == 404
    assert await sessions.session(event.session.session_id, "ann") == before


async def test_another_user_does_not_find_a_pending_question(store: OutcomeStore) -> None:
    question = asked()
    await record(store, question)

    with pytest.raises(Refusal) as refused:
        await read(store, question.question_id, "bob")

    assert refused.value.problem.status == 404


async def test_a_list_has_only_sessions_of_its_user(sessions: SessionStore, archivist: Archivist) -> None:
    mine = await sessions.create_session(uuid4(), "ann", "mine", SessionParams())
    await sessions.create_session(uuid4(), "bob", "his", SessionParams())

    page = await archivist.list_sessions(ListSessions(user_id="ann"))

    assert page.sessions == (mine,)


async def test_a_context_has_the_newest_turns_oldest_first(store: OutcomeStore, archivist: Archivist) -> None:
    first = outcome()
    await store.store_outcome(first)
    for number in (1, 2, 3):
        await store.store_outcome(follow_up(first, number, f"answer {number}"))

    request = GetSessionContext(session_id=first.session.session_id, user_id="ann", turns=2)
    context = await archivist.get_context(request)

    assert context.turns == tuple(Turn(question=f"question {n}", answer=f"answer {n}") for n in (2, 3))


async def test_a_turn_without_an_answer_is_no_turn(store: OutcomeStore, sessions: SessionStore) -> None:
    first = outcome("Ten metres.")
    await store.store_outcome(first)
    await store.store_outcome(follow_up(first, 1, ""))

    context = await sessions.context(first.session.session_id, "ann", 5)

    assert [turn.answer for turn in context.turns] == ["Ten metres."]


async def test_a_context_without_turns_is_the_session(store: OutcomeStore, sessions: SessionStore) -> None:
    first = outcome()
    await store.store_outcome(first)

    context = await sessions.context(first.session.session_id, "ann", 0)

    assert (context.session.session_id, context.turns) == (first.session.session_id, ())


MANY_INTERACTIONS = """
insert into conversations.interactions
    (question_id, session_id, user_id, asked_at, status, question, answer, record, sequence)
select gen_random_uuid(), $1, 'ann', $2, 'finished', 'q', 'a', '{}', n
from generate_series(1, $3::int) as n
"""


async def test_the_turns_of_a_long_session_cost_what_those_of_a_short_one_do(
    sessions: SessionStore, connection: Connection
) -> None:
    session = await sessions.create_session(uuid4(), "ann", "long", SessionParams())
    await connection.execute(MANY_INTERACTIONS, session.session_id, ASKED_AT, 2000)
    await connection.execute("analyze conversations.interactions")

    explained = await connection.fetchval(
        f"explain (analyze, format json) {persister.session_store._TURNS}", session.session_id, 8
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


async def all_pages(archivist: Archivist, limit: int, **filters: str) -> list[UUID]:
    found: list[UUID] = []
    cursor: str | None = None
    while True:
        page = await archivist.list_sessions(ListSessions(user_id="ann", limit=limit, cursor=cursor, **filters))
        found += [session.session_id for session in page.sessions]
        if (cursor := page.next_cursor) is None:
            return found


async def test_pages_are_complete_and_distinct_when_all_change_at_the_same_time(
    store: OutcomeStore, archivist: Archivist
) -> None:
    events = [outcome() for _ in range(7)]
    for event in events:
        await store.store_outcome(event)

    found = await all_pages(archivist, 2)

    assert len(found) == 7
    assert set(found) == {event.session.session_id for event in events}


async def test_sessions_come_newest_change_first(store: OutcomeStore, archivist: Archivist) -> None:
    first, second = outcome(), outcome()
    await store.store_outcome(first)
    await store.store_outcome(second)
    await store.store_outcome(follow_up(first, 1))

    found = await all_pages(archivist, 1)

    assert found == [first.session.session_id, second.session.session_id]


@pytest.mark.parametrize("cursor", ["%", "", session_cursor((ASKED_AT, UUID(int=1))), "LTE=", "MWU5OQ=="])
async def test_a_cursor_within_a_session_that_nobody_gave_is_refused(
    sessions: SessionStore, archivist: Archivist, cursor: str
) -> None:
    session = await sessions.create_session(uuid4(), "ann", "", SessionParams())

    with pytest.raises(Refusal) as refused:
        await archivist.read_session(ReadSession(session_id=session.session_id, user_id="ann", cursor=cursor))

    assert refused.value.problem.status == 422


async def test_a_session_has_its_questions_in_the_order_in_which_they_were_put_on_record(
    store: OutcomeStore, sessions: SessionStore
) -> None:
    first = outcome()
    await store.store_outcome(first)
    earlier, later = [
        asked(f"question {n}", session_id=first.session.session_id, occurred_at=ASKED_AT - timedelta(n)) for n in (1, 2)
    ]
    await record(store, earlier)
    await record(store, later)

    await store.store_outcome(outcome_of(later))
    await store.store_outcome(outcome_of(earlier))

    context = await sessions.context(first.session.session_id, "ann", 5)
    assert [turn.question for turn in context.turns] == ["How high?", "question 1", "question 2"]


async def test_the_pages_of_a_session_are_complete_and_oldest_first(store: OutcomeStore, archivist: Archivist) -> None:
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
    "time_out_of_range": session_cursor((datetime.fromisoformat("0001-01-01T00:00:00+14:00"), uuid4())),
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
    sessions: SessionStore, archivist: Archivist, text: str, found: str
) -> None:
    for title in ("100% sure", "100 percent", "a_b", "axb", "c\\d", "cd"):
        await sessions.create_session(uuid4(), "ann", title, SessionParams())

    page = await archivist.list_sessions(ListSessions(user_id="ann", text=text))

    assert [session.title for session in page.sessions] == [found]


async def test_a_search_looks_into_questions(store: OutcomeStore, archivist: Archivist) -> None:
    event = outcome_of(asked("Where is the lighthouse?"))
    await store.store_outcome(event)
    await store.store_outcome(outcome())

    page = await archivist.list_sessions(ListSessions(user_id="ann", text="lighthouse"))

    assert [session.session_id for session in page.sessions] == [event.session.session_id]


async def test_a_label_filters_the_list(sessions: SessionStore, archivist: Archivist) -> None:
    labelled = await sessions.create_session(uuid4(), "ann", "", SessionParams(supp_id="label"))
    await sessions.create_session(uuid4(), "ann", "", SessionParams())

    page = await archivist.list_sessions(ListSessions(user_id="ann", supp_id="label"))

    assert page.sessions == (labelled,)
