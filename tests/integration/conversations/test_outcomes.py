"""Outcomes and questions on record: stored once, whole, first come first kept."""

import asyncio
import json
from datetime import timedelta
from uuid import uuid4

import pytest

from builders import source
from citewire.contracts.events import now
from citewire.contracts.evidence import Quote
from citewire.contracts.identity import Role, User
from citewire.contracts.requests import (
    GetInteraction,
    ListSessions,
)
from citewire.contracts.sessions import (
    InteractionStatus,
    SessionParams,
    Turn,
    UserInput,
    new_session_id,
)
from citewire.runtime.errors import PermanentError, Refusal
from conversations import (
    ASKED_AT,
    FAILED,
    Connection,
    asked,
    citation,
    count,
    counts,
    follow_up,
    in_session,
    is_settled,
    outcome,
    outcome_of,
    read,
    record,
    rejected,
)
from persister.handlers import Archivist, Recorder
from persister.session_store import SessionStore
from persister.store import OutcomeStore


async def test_an_outcome_reads_back_equal(store: OutcomeStore) -> None:
    event = outcome(citations=(citation(1), citation(3)), sources=(source(1, "It is ten metres high."),))

    await store.store_outcome(event)

    assert await read(store, event.question_id, "ann") == event.interaction


async def test_an_outcome_brings_its_new_session(store: OutcomeStore, sessions: SessionStore) -> None:
    event = in_session(outcome(), title="Heights", params=SessionParams(kb_ids=("kb",), top_k=3, supp_id="label"))

    await store.store_outcome(event)

    session = await sessions.session(event.session.session_id, "ann")
    assert (session.title, session.params, session.kb_ids) == ("Heights", event.session.params, ("kb",))
    assert (session.created_at, session.interactions) == (ASKED_AT, 1)


async def test_an_outcome_brings_its_citations(store: OutcomeStore, connection: Connection) -> None:
    event = outcome(citations=(citation(1), citation(3)))

    await store.store_outcome(event)

    rows = await connection.fetch("select * from conversations.citations order by number")
    cited = event.interaction.model_response.citations
    assert [(row["number"], row["kb_id"], row["doc_id"], row["page"]) for row in rows] == [
        (citation.number, citation.kb_id, citation.doc_id, citation.page) for citation in cited
    ]
    assert [Quote.model_validate(quote) for quote in json.loads(rows[0]["quotes"])] == list(cited[0].quotes)


async def test_when_one_part_fails_nothing_is_stored(store: OutcomeStore, connection: Connection) -> None:
    question = asked()
    await record(store, question)
    event = outcome_of(question, citations=(citation(1), citation(1)))

    with pytest.raises(PermanentError):
        await store.store_outcome(event)

    assert await counts(connection) == (0, 0, 0)
    assert not await is_settled(connection, question)


async def test_a_redelivered_outcome_is_stored_once(store: OutcomeStore, connection: Connection) -> None:
    event = outcome(citations=(citation(1),))

    await store.store_outcome(event)
    await store.store_outcome(event)

    assert await counts(connection) == (1, 1, 1)


async def test_two_workers_with_the_same_outcome_store_it_once(store: OutcomeStore, connection: Connection) -> None:
    event = outcome(citations=(citation(1),))

    await asyncio.gather(*(store.store_outcome(event) for _ in range(4)))

    assert await counts(connection) == (1, 1, 1)


async def test_the_first_outcome_of_a_question_wins(store: OutcomeStore, connection: Connection) -> None:
    question = asked()
    first = outcome_of(question, "first", citations=(citation(1),))

    await store.store_outcome(first)
    await store.store_outcome(outcome_of(question, "second", citations=(citation(2),)))

    assert await read(store, question.question_id, "ann") == first.interaction
    assert await connection.fetchval("select array_agg(number) from conversations.citations") == [1]


async def test_the_status_on_record_is_answered_to_a_later_outcome(store: OutcomeStore) -> None:
    question = asked()

    first = await store.store_outcome(outcome_of(question, "", **FAILED))
    second = await store.store_outcome(outcome_of(question))

    assert (first, second) == (InteractionStatus.FAILED, InteractionStatus.FAILED)


async def test_an_outcome_after_a_rejection_is_not_stored(store: OutcomeStore, connection: Connection) -> None:
    question = asked()
    await record(store, question)
    await store.record_rejection(rejected(question))

    status = await store.store_outcome(outcome_of(question))

    assert status is InteractionStatus.FAILED
    assert await counts(connection) == (0, 0, 0)


async def test_two_questions_in_one_session_at_the_same_time_are_both_kept(
    store: OutcomeStore, sessions: SessionStore
) -> None:
    first = outcome()
    await store.store_outcome(first)
    both = [follow_up(first, 1, f"answer {number}") for number in range(2)]

    await asyncio.gather(*map(store.store_outcome, both))

    page = await sessions.read_session(first.session.session_id, "ann", 10, None)
    assert page.interactions[0] == first.interaction
    assert {interaction.question_id for interaction in page.interactions[1:]} == {event.question_id for event in both}


async def test_an_outcome_whose_session_was_deleted_meanwhile_stores_nothing(
    store: OutcomeStore, sessions: SessionStore, connection: Connection
) -> None:
    first = outcome()
    await store.store_outcome(first)
    second = follow_up(first, 1)
    await sessions.delete_session(first.session.session_id, "ann")

    await store.store_outcome(second)

    assert await counts(connection) == (0, 0, 0)


async def test_a_redelivered_outcome_does_not_bring_a_deleted_session_back(
    store: OutcomeStore, sessions: SessionStore, connection: Connection
) -> None:
    question = asked()
    await record(store, question)
    await store.store_outcome(outcome_of(question))
    await sessions.delete_session(new_session_id(question.question_id), "ann")

    await store.store_outcome(outcome_of(question))

    assert await counts(connection) == (0, 0, 0)


async def test_an_outcome_never_enters_the_session_of_somebody_else(
    store: OutcomeStore, connection: Connection
) -> None:
    first = outcome()
    await store.store_outcome(first)
    question = asked(session_id=first.session.session_id, user=User(user_id="bob"))

    await store.store_outcome(outcome_of(question))

    assert await count(connection, "interactions") == 1


async def test_the_first_question_names_an_untitled_session(store: OutcomeStore, sessions: SessionStore) -> None:
    session = await sessions.create_session(uuid4(), "ann", "", SessionParams())
    question = asked(session_id=session.session_id)

    await store.store_outcome(outcome_of(question))

    assert (await sessions.session(session.session_id, "ann")).title == "How high?"


async def test_a_later_question_leaves_the_title(store: OutcomeStore, sessions: SessionStore) -> None:
    first = in_session(outcome(), title="Heights")
    await store.store_outcome(first)

    await store.store_outcome(follow_up(first, 1))

    assert (await sessions.session(first.session.session_id, "ann")).title == "Heights"


async def test_the_audit_outlives_its_session(
    store: OutcomeStore, sessions: SessionStore, connection: Connection
) -> None:
    question = asked()
    await record(store, question)
    await store.store_outcome(outcome_of(question))

    await sessions.delete_session(new_session_id(question.question_id), "ann")

    assert await connection.fetchval("select question from conversations.questions") == question.question
    assert await counts(connection) == (0, 0, 0)


async def test_an_outcome_settles_its_question(store: OutcomeStore, connection: Connection) -> None:
    question = asked()
    await record(store, question)

    await store.store_outcome(outcome_of(question))

    assert await is_settled(connection, question)


async def test_an_outcome_puts_its_question_on_record(store: OutcomeStore, connection: Connection) -> None:
    question = asked()

    await store.store_outcome(outcome_of(question))

    row = await connection.fetchrow("select * from conversations.questions")
    assert row is not None
    assert (row["question_id"], row["asker"], row["user_id"]) == (question.question_id, "web", "ann")
    assert (row["question"], json.loads(row["kb_ids"]), row["is_settled"]) == ("How high?", ["kb"], True)


async def test_a_question_recorded_after_its_outcome_adds_what_only_it_says(store: OutcomeStore) -> None:
    question = asked()
    await store.store_outcome(outcome_of(question))

    await record(store, question)

    assert (await store.interaction(question.question_id, "ann")).fingerprint == question.fingerprint


async def test_a_deadline_that_never_comes_is_cut(store: OutcomeStore) -> None:
    question = asked(seconds=1e9)

    await record(store, question)

    (found,) = await store.unsettled(now() + timedelta(minutes=70))
    assert found.question_id == question.question_id


async def test_another_question_with_the_id_of_one_on_record_changes_nothing(store: OutcomeStore) -> None:
    question = asked()
    await record(store, question)

    await record(store, question.model_copy(update={"question": "How low?"}))

    reply = await store.interaction(question.question_id, "ann")
    assert (reply.interaction.user_input.content, reply.fingerprint) == ("How high?", question.fingerprint)


async def test_b06_another_service_asks_for_itself_whoever_it_names(recorder: Recorder, store: OutcomeStore) -> None:
    question = asked(asker="shop", user=User(user_id="ann", role=Role.ADMINISTRATOR))

    await recorder.record_question(question)

    assert (await read(store, question.question_id, "service:shop")).status is InteractionStatus.PENDING
    with pytest.raises(Refusal):
        await store.interaction(question.question_id, "ann")


async def test_a_question_recorded_after_its_outcome_is_settled_at_once(
    store: OutcomeStore, connection: Connection
) -> None:
    question = asked()
    await store.store_outcome(outcome_of(question))

    await record(store, question)

    assert await is_settled(connection, question)


async def test_a_redelivered_question_is_recorded_once(store: OutcomeStore, connection: Connection) -> None:
    question = asked()

    await record(store, question)
    await record(store, question)

    assert await count(connection, "questions") == 1


async def test_a_question_without_an_outcome_is_pending(store: OutcomeStore, archivist: Archivist) -> None:
    question = asked()
    await record(store, question)

    reply = await archivist.get_interaction(GetInteraction(question_id=question.question_id, user_id="ann"))

    assert reply.interaction.status is InteractionStatus.PENDING
    assert reply.interaction.session_id == new_session_id(question.question_id)
    assert reply.interaction.user_input == UserInput(content=question.question, at=ASKED_AT)


async def test_a_question_whose_session_is_deleted_is_not_pending_but_gone(
    store: OutcomeStore, sessions: SessionStore, archivist: Archivist
) -> None:
    question = asked()
    await record(store, question)
    await store.store_outcome(outcome_of(question))
    await sessions.delete_session(new_session_id(question.question_id), "ann")

    with pytest.raises(Refusal) as refused:
        await archivist.get_interaction(GetInteraction(question_id=question.question_id, user_id="ann"))

    assert refused.value.problem.status == 404


async def test_g01_nul_is_dropped_from_every_text_and_the_rest_is_stored(
    store: OutcomeStore, sessions: SessionStore, connection: Connection
) -> None:
    question = asked("wh\0y?")
    event = outcome_of(
        question,
        "bec\0ause",
        citations=(citation(1, "quo\0ted"),),
        sources=(source(1, "sou\0rce"),),
    )

    await record(store, question)
    await store.store_outcome(in_session(event, title="wh\0y"))

    stored = await read(store, question.question_id, "ann")
    assert (stored.user_input.content, stored.model_response.content) == ("why?", "because")
    assert stored.sources[0].text == "source"
    assert stored.model_response.citations[0].quotes[0].cited_text == "quoted"
    assert (await sessions.session(event.session.session_id, "ann")).title == "why"
    assert await connection.fetchval("select question from conversations.questions") == "why?"
    assert "quoted" in await connection.fetchval("select quotes::text from conversations.citations")


async def test_g01_nul_in_a_label_to_list_by_is_dropped(sessions: SessionStore, archivist: Archivist) -> None:
    await sessions.create_session(uuid4(), "ann", "", SessionParams(supp_id="la\0bel"))

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
async def test_g03_g07_text_is_stored_unchanged(store: OutcomeStore, sessions: SessionStore, text: str) -> None:
    question = asked(text)
    event = outcome_of(question, text, citations=(citation(1, text),), sources=(source(1, text),))

    await store.store_outcome(in_session(event, title=text))

    session_id = event.session.session_id
    assert await read(store, question.question_id, "ann") == event.interaction
    assert (await sessions.context(session_id, "ann", 1)).turns == (Turn(question=text, answer=text),)
    assert (await sessions.session(session_id, "ann")).title == text
