"""What the readers of an answer are told of its outcome."""

import asyncio

import pytest

from builders import source
from citewire.contracts.answers import DoneFrame, EntryKind
from citewire.contracts.evidence import Quality, QualityLevel
from citewire.contracts.problems import Problem
from citewire.contracts.requests import GetInteraction
from citewire.contracts.sessions import InteractionStatus
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.errors import PermanentError
from citewire.runtime.written import read_written
from conversations import (
    FAILED,
    STORED,
    Connection,
    asked,
    begin_log,
    citation,
    end_log,
    entries,
    follow_up,
    open_log,
    outcome,
    outcome_of,
    read,
    rejected,
)
from persister.answer_ends import AnswerEnds
from persister.handlers import Archivist, Recorder
from persister.session_store import SessionStore
from persister.store import OutcomeStore
from waiting import until_found


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
    recorder: Recorder, store: OutcomeStore, answer_log: AnswerLog, connection: Connection
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
    assert await read(store, event.question_id, "ann") == event.interaction


async def someone_waits_for_a_lock(connection: Connection) -> bool:
    return bool(await connection.fetchval("select exists (select from pg_locks where not granted)"))


async def test_p2_an_outcome_that_cannot_be_stored_is_not_marked(recorder: Recorder, answer_log: AnswerLog) -> None:
    event = outcome(citations=(citation(1), citation(1)))
    await end_log(answer_log, event)

    with pytest.raises(PermanentError):
        await recorder.store_outcome(event)

    assert await answer_log.read(event.question_id, 1) == []


async def test_p2_an_outcome_whose_session_is_gone_is_not_marked(
    recorder: Recorder, store: OutcomeStore, sessions: SessionStore, answer_log: AnswerLog
) -> None:
    first = outcome()
    await store.store_outcome(first)
    second = follow_up(first, 1)
    await end_log(answer_log, second)
    await sessions.delete_session(first.session.session_id, "ann")

    await recorder.store_outcome(second)

    assert await answer_log.read(second.question_id, 1) == []


async def test_a_failed_outcome_ends_its_log(recorder: Recorder, answer_log: AnswerLog) -> None:
    question = asked()
    await open_log(answer_log, question)
    event = outcome_of(question, "", **FAILED)

    await recorder.store_outcome(event)

    (end, end_json), (stored, stored_json) = await entries(answer_log, event.question_id)
    done = DoneFrame.model_validate_json(end_json)
    assert (end, stored, stored_json) == (EntryKind.END, EntryKind.STORED, '{"status":"failed"}')
    assert (done.status, done.degraded) == (InteractionStatus.FAILED, "the model is away")
    assert done.session_id == event.session.session_id


async def test_an_outcome_without_a_log_makes_none(recorder: Recorder, answer_log: AnswerLog) -> None:
    event = outcome("", **FAILED)

    await recorder.store_outcome(event)

    assert await answer_log.state(event.question_id) is None


async def test_a_failure_keeps_what_its_reader_has_seen(
    recorder: Recorder, store: OutcomeStore, answer_log: AnswerLog
) -> None:
    question = asked()
    await begin_log(answer_log, question, "Ten ", "metres")

    await recorder.store_outcome(outcome_of(question, "", **FAILED))

    stored = await read(store, question.question_id, "ann")
    done = DoneFrame.model_validate_json((await entries(answer_log, question.question_id))[-2][1])
    assert (stored.status, done.status) == (InteractionStatus.INCOMPLETE, InteractionStatus.INCOMPLETE)
    assert (stored.model_response.content, stored.degraded) == ("Ten metres", "the model is away")


async def test_a_failure_after_an_end_leaves_the_answer_as_its_reader_has_it(
    recorder: Recorder, store: OutcomeStore, answer_log: AnswerLog
) -> None:
    question = asked()
    await begin_log(answer_log, question, "Ten metres")
    await end_log(answer_log, outcome_of(question))

    await recorder.store_outcome(outcome_of(question, "", **FAILED))

    stored = await read(store, question.question_id, "ann")
    assert (stored.status, stored.model_response.content) == (InteractionStatus.FINISHED, "Ten metres")
    assert await answer_log.read(question.question_id, 3) == STORED


async def test_a_log_that_redis_kept_from_its_generator_gets_the_rest_and_the_end(
    recorder: Recorder, answer_log: AnswerLog
) -> None:
    question = asked()
    await begin_log(answer_log, question, "Ten ")

    await recorder.store_outcome(outcome_of(question, "Ten metres."))

    written = read_written(await answer_log.read(question.question_id, 0, 4))
    assert written.text == "Ten metres."
    assert written.done is not None
    assert written.done.status is InteractionStatus.FINISHED
    assert await answer_log.read(question.question_id, 4) == STORED


async def test_an_empty_log_gets_the_whole_outcome(recorder: Recorder, answer_log: AnswerLog) -> None:
    question = asked()
    await open_log(answer_log, question)
    quality = Quality(level=QualityLevel.OK, reason="It says so.")
    event = outcome_of(question, "Ten metres.", sources=(source(1, "It is ten metres high."),), quality=quality)

    await recorder.store_outcome(event)

    written = read_written((await answer_log.read(question.question_id, 0))[:-1])
    assert written.sources is not None
    assert written.sources.sources == event.interaction.sources
    assert written.text == "Ten metres."


async def test_a_reader_is_told_which_status_was_stored_first(recorder: Recorder, answer_log: AnswerLog) -> None:
    question = asked()
    await recorder.store_outcome(outcome_of(question, "", **FAILED))
    await begin_log(answer_log, question, "Ten metres.")
    await end_log(answer_log, outcome_of(question))

    await recorder.store_outcome(outcome_of(question))

    assert await answer_log.read(question.question_id, 3) == ['stored {"status":"failed"}']


async def test_an_outcome_is_stored_while_redis_is_away(store: OutcomeStore, lost_ends: AnswerEnds) -> None:
    event = outcome()

    await Recorder(store, lost_ends, ("web",)).store_outcome(event)

    assert await read(store, event.question_id, "ann") == event.interaction


async def test_a_failure_is_stored_while_redis_is_away(store: OutcomeStore, lost_ends: AnswerEnds) -> None:
    event = outcome("", **FAILED)

    await Recorder(store, lost_ends, ("web",)).store_outcome(event)

    assert (await read(store, event.question_id, "ann")).status is InteractionStatus.FAILED


async def test_an_outcome_that_the_database_does_not_take_ends_its_question_as_failed(
    recorder: Recorder, store: OutcomeStore, answer_log: AnswerLog
) -> None:
    event = outcome(citations=(citation(1), citation(1)))
    await end_log(answer_log, event)

    await recorder.give_up(event, "a citation twice")

    stored = await read(store, event.question_id, "ann")
    assert (stored.status, stored.model_response.content) == (InteractionStatus.FAILED, "Ten metres.")
    assert stored.degraded == "the answer could not be stored: a citation twice"
    assert await answer_log.read(event.question_id, 1) == ['stored {"status":"failed"}']


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


async def test_a_rejection_that_overtakes_its_question_stays(recorder: Recorder, store: OutcomeStore) -> None:
    question = asked()
    await recorder.record_rejection(rejected(question))

    await recorder.record_question(question)

    assert (await read(store, question.question_id, "ann")).status is InteractionStatus.FAILED


async def test_a_rejection_ends_its_log(recorder: Recorder, answer_log: AnswerLog) -> None:
    question = asked()
    await open_log(answer_log, question)

    await recorder.record_rejection(rejected(question))

    (end, end_json), (stored, _) = await entries(answer_log, question.question_id)
    assert (end, stored) == (EntryKind.END, EntryKind.STORED)
    assert DoneFrame.model_validate_json(end_json).degraded == "There is no such session."


FOREIGN: dict[str, dict[str, object]] = {
    "another_question": {"fingerprint": "another"},
    "another_asker": {"asker": "shop"},
    "unreadable": {"fingerprint": ""},
    "id_in_use": {"problem": Problem(type="conflict", title="Conflict", status=409)},
}


@pytest.mark.parametrize("fields", list(FOREIGN.values()), ids=list(FOREIGN))
async def test_b06_a_bad_question_with_the_id_of_another_changes_nothing_of_it(
    recorder: Recorder, store: OutcomeStore, answer_log: AnswerLog, fields: dict[str, object]
) -> None:
    question = asked()
    await recorder.record_question(question)
    await begin_log(answer_log, question, "Ten ")

    await recorder.record_rejection(rejected(question, **fields))

    assert (await read(store, question.question_id, "ann")).status is InteractionStatus.PENDING
    assert len(await entries(answer_log, question.question_id)) == 2


async def test_b06_a_question_whose_id_is_in_use_does_not_take_the_place_of_the_first(
    recorder: Recorder, store: OutcomeStore
) -> None:
    question = asked()
    conflict = Problem(type="conflict", title="Conflict", status=409)
    await recorder.record_rejection(rejected(question, fingerprint="another", problem=conflict))

    await recorder.record_question(question)
    await recorder.store_outcome(outcome_of(question))

    assert (await read(store, question.question_id, "ann")).status is InteractionStatus.FINISHED
