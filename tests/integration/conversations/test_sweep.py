"""Questions that nobody ended are ended, with what was written of their answers."""

import asyncio
from datetime import timedelta

import pytest

from citewire.contracts.answers import DoneFrame, EntryKind
from citewire.contracts.events import now
from citewire.contracts.identity import User
from citewire.contracts.sessions import InteractionStatus, SessionParams, UserInput
from citewire.runtime.answer_log import AnswerLog, AppendOutcome, encode_deltas
from citewire.runtime.bus import Bus
from conversations import (
    ASKED_AT,
    asked,
    begin_log,
    end_log,
    entries,
    outcome_of,
    published,
    read,
    record,
    rejected,
)
from persister import sweep
from persister.answer_ends import AnswerEnds
from persister.settings import Settings
from persister.store import OutcomeStore
from persister.sweep import Sweeper
from waiting import until_found


async def test_two_sweepers_end_an_expired_question_once(
    bus: Bus, store: OutcomeStore, ends: AnswerEnds, sweeper: Sweeper
) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    other = Sweeper(bus, store, ends, Settings(sweep_grace=10))

    ended = await asyncio.gather(sweeper.sweep(), other.sweep())

    (event,) = await published(bus)
    assert list(ended) == [1, 1]
    assert (event.question_id, event.interaction.status) == (question.question_id, InteractionStatus.FAILED)


async def test_a_question_that_was_ended_is_not_ended_again(bus: Bus, store: OutcomeStore, sweeper: Sweeper) -> None:
    await record(store, asked(seconds=-11))
    await sweeper.sweep()
    (event,) = await published(bus)
    await store.store_outcome(event)

    assert await sweeper.sweep() == 0


async def test_the_end_of_an_expired_question_is_what_its_user_reads(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper
) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    await sweeper.sweep()
    (event,) = await published(bus)

    await store.store_outcome(event)

    stored = await read(store, question.question_id, "ann")
    assert (stored.status, stored.degraded) == (InteractionStatus.FAILED, "no answer within the time limit")
    assert stored.user_input == UserInput(content=question.question, at=ASKED_AT)


async def test_a_question_with_an_outcome_is_not_swept(bus: Bus, store: OutcomeStore, sweeper: Sweeper) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    await store.store_outcome(outcome_of(question))

    assert await sweeper.sweep() == 0
    assert await published(bus) == []


@pytest.mark.parametrize("seconds", [60, -5], ids=["before_its_deadline", "within_the_grace"])
async def test_a_question_that_may_still_be_answered_is_not_swept(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper, seconds: float
) -> None:
    await record(store, asked(seconds=seconds))

    assert await sweeper.sweep() == 0
    assert await published(bus) == []


async def test_a_rejected_question_is_not_swept(bus: Bus, store: OutcomeStore, sweeper: Sweeper) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    await store.record_rejection(rejected(question))

    assert await sweeper.sweep() == 0


async def test_g01_a_question_of_nothing_but_nul_ends_too(bus: Bus, store: OutcomeStore, sweeper: Sweeper) -> None:
    question = asked("\0", seconds=-11)
    await record(store, question)

    await sweeper.sweep()

    (event,) = await published(bus)
    assert event.question_id == question.question_id


async def test_the_session_that_a_swept_question_opens_has_the_scope_of_its_parameters(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper
) -> None:
    params = SessionParams(kb_ids=("kb", "other", "kb"), top_k=3)
    await record(store, asked(seconds=-11, kb_ids=None, params=params))

    await sweeper.sweep()

    (event,) = await published(bus)
    assert event.session.params == SessionParams(kb_ids=("kb", "other"))


async def test_a10_an_answer_that_broke_off_becomes_incomplete_with_its_text(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper, answer_log: AnswerLog
) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    await begin_log(answer_log, question, "Ten ", "metres [1].")

    await sweeper.sweep()

    (event,) = await published(bus)
    assert event.interaction.status is InteractionStatus.INCOMPLETE
    assert event.interaction.model_response.content == "Ten metres [1]."
    assert [source.text for source in event.interaction.sources] == ["It is ten metres high."]
    assert event.interaction.degraded == "no answer within the time limit"


async def test_a10_the_log_of_an_answer_that_broke_off_is_ended(
    store: OutcomeStore, sweeper: Sweeper, answer_log: AnswerLog
) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    await begin_log(answer_log, question, "Ten ", "metres")

    await sweeper.sweep()

    kind, end = (await entries(answer_log, question.question_id))[-1]
    assert kind is EntryKind.END
    assert DoneFrame.model_validate_json(end).status is InteractionStatus.INCOMPLETE


async def test_a_generator_that_wakes_up_after_the_sweep_is_fenced(
    store: OutcomeStore, sweeper: Sweeper, answer_log: AnswerLog
) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    stale = await begin_log(answer_log, question, "Ten ")
    await sweeper.sweep()

    outcome = await answer_log.append(stale, encode_deltas(["metres"]), 2)

    assert outcome is AppendOutcome.FENCED


async def test_an_end_that_nobody_published_becomes_the_outcome(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper, answer_log: AnswerLog
) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    await begin_log(answer_log, question, "Ten metres.")
    await end_log(answer_log, outcome_of(question))

    await sweeper.sweep()

    (event,) = await published(bus)
    assert event.interaction.status is InteractionStatus.FINISHED
    assert event.interaction.model_response.content == "Ten metres."
    assert event.interaction.degraded is None


async def test_a_stopped_answer_that_nobody_ended_ends_as_stopped(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper, answer_log: AnswerLog
) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    await begin_log(answer_log, question, "Ten ")
    await answer_log.request_stop(question.question_id)

    await sweeper.sweep()

    (event,) = await published(bus)
    assert (event.interaction.status, event.interaction.model_response.content) == (InteractionStatus.STOPPED, "Ten ")


async def test_the_log_of_somebody_else_with_the_same_id_is_left_alone(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper, answer_log: AnswerLog
) -> None:
    question = asked(seconds=-11)
    await record(store, question)
    another = question.model_copy(update={"user": User(user_id="bob")})
    await begin_log(answer_log, another, "for bob only")

    await sweeper.sweep()

    (event,) = await published(bus)
    assert (event.interaction.status, event.interaction.model_response.content) == (InteractionStatus.FAILED, "")
    assert len(await entries(answer_log, question.question_id)) == 2


async def test_a_question_waits_a_while_for_a_redis_that_may_have_its_text(
    bus: Bus, store: OutcomeStore, lost_ends: AnswerEnds
) -> None:
    await record(store, asked(seconds=-11))

    ended = await Sweeper(bus, store, lost_ends, Settings(sweep_grace=10)).sweep()

    assert ended == 0
    assert await published(bus) == []


async def test_a_question_ends_without_redis_in_the_end(bus: Bus, store: OutcomeStore, lost_ends: AnswerEnds) -> None:
    await record(store, asked(seconds=-80))

    ended = await Sweeper(bus, store, lost_ends, Settings(sweep_grace=10)).sweep()

    (event,) = await published(bus)
    assert (ended, event.interaction.status) == (1, InteractionStatus.FAILED)


async def test_an_outcome_that_cannot_be_stored_for_now_holds_up_no_other_question(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper
) -> None:
    await let_an_outcome_wait(bus)
    question = asked(seconds=-11, occurred_at=now() - timedelta(minutes=2))
    await record(store, question)

    assert await sweeper.sweep() == 1


async def test_a_question_whose_outcome_may_wait_since_long_is_not_swept(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper
) -> None:
    await let_an_outcome_wait(bus)
    await record(store, asked(seconds=-11, occurred_at=now() - timedelta(hours=2)))

    assert await sweeper.sweep() == 0


async def test_outcomes_that_never_get_stored_hold_up_old_questions_only_for_a_while(
    bus: Bus, store: OutcomeStore, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    await let_an_outcome_wait(bus)
    await record(store, asked(seconds=-11, occurred_at=now() - timedelta(hours=2)))
    before = await sweeper.sweep()
    monkeypatch.setattr(sweep, "_WAITING_LIMIT", timedelta(0))

    after = await sweeper.sweep()

    assert (before, after) == (0, 1)


async def let_an_outcome_wait(bus: Bus) -> None:
    """Publish an outcome that nobody stores."""
    await bus.publish(outcome_of(asked()))


async def test_a_running_sweeper_sweeps_at_intervals(bus: Bus, store: OutcomeStore, ends: AnswerEnds) -> None:
    await record(store, asked(seconds=-11))

    async def is_ended() -> bool:
        return len(await published(bus)) == 1

    async with Sweeper(bus, store, ends, Settings(sweep_grace=10, sweep_interval=0.02)).running():
        await until_found(is_ended)
