"""What becomes of a question: planned, rejected, ended at once, or told again."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from autoquery import standing
from builders import knowledge_base, private
from citewire.contracts.events import (
    InteractionFinished,
    QuestionAsked,
    QuestionRejected,
    RetrievalPlanned,
    RetrievalRequested,
    now,
)
from citewire.contracts.identity import Role, User
from citewire.contracts.problems import Problem
from citewire.contracts.requests import GetSessionContext
from citewire.contracts.sessions import InteractionStatus
from citewire.runtime.answer_log import Opening
from citewire.runtime.errors import Refusal, TransientError
from planner_stage import Doorkeeper, KnownLog, RecordingBus, Stage, asked, noted, on_record

HANDBOOK = knowledge_base("handbook")
TOO_MANY = Problem(type="too-many", title="Too many questions", status=429, retry_after=7)
FINAL = (
    InteractionStatus.FINISHED,
    InteractionStatus.FAILED,
    InteractionStatus.STOPPED,
    InteractionStatus.INCOMPLETE,
)


def question(text: str = "Who leads it?", **fields: Any) -> QuestionAsked:
    return asked(text, **{"kb_ids": ["handbook"]} | fields)


class NeverAnswers(RecordingBus):
    """Nobody has a session's context."""

    async def ask(self, request: Any, timeout: float = 5.0) -> Any:  # noqa: ASYNC109 - the bus' own
        if isinstance(request, GetSessionContext):
            await asyncio.Event().wait()
        return await super().ask(request, timeout)


def kinds(published: list[Any]) -> list[type]:
    return [type(event) for event in published]


async def rejected(stage: Stage, event: QuestionAsked) -> QuestionRejected:
    """The rejection that is all that a question brings."""
    (rejection,) = await stage.plan(event)
    assert isinstance(rejection, QuestionRejected)
    return rejection


async def test_a_question_becomes_a_plan_and_then_requests() -> None:
    published = await Stage([HANDBOOK]).plan(question())

    assert kinds(published) == [RetrievalPlanned, RetrievalRequested]


async def test_text_from_the_bus_is_cleaned_as_text_from_the_web_is() -> None:
    planned, _ = await Stage([HANDBOOK]).plan(question("Who\r\nleads\0 it? 😀"))

    assert planned.question == "Who\nleads it? 😀"


async def test_text_that_is_empty_once_cleaned_is_rejected() -> None:
    rejection = await rejected(Stage([HANDBOOK]), question("\0\x01"))

    assert (rejection.problem.status, rejection.problem.errors[0].field) == (422, "question")


async def test_text_longer_than_the_window_is_rejected() -> None:
    rejection = await rejected(Stage([HANDBOOK]), question("word " * 50, params={"max_chat_history_tokens": 10}))

    assert (rejection.problem.status, rejection.problem.errors[0].field) == (422, "question")


async def test_a_deadline_that_no_answer_may_have_is_rejected() -> None:
    rejection = await rejected(Stage([HANDBOOK]), question(seconds=2 * 3600))

    assert (rejection.problem.status, rejection.problem.errors[0].field) == (422, "deadline")


async def test_a_trusted_asker_asks_for_its_users() -> None:
    planned, request = await Stage([HANDBOOK]).plan(question(user=User(user_id="alice")))

    assert (planned.user.user_id, request.user.user_id) == ("alice", "alice")


async def test_another_asker_asks_for_itself() -> None:
    planned, request = await Stage([HANDBOOK]).plan(question(asker="shop", user=User(user_id="alice")))

    assert planned.user == request.user == User(user_id="service:shop")


async def test_a_forged_administrator_gets_nothing() -> None:
    root = User(user_id="root", role=Role.ADMINISTRATOR)

    rejection = await rejected(Stage([private("secret")]), asked(asker="shop", user=root, kb_ids=["secret"]))

    assert (rejection.problem.status, rejection.user) == (404, User(user_id="service:shop"))


async def test_b06_a_service_may_ask_what_it_was_let_into() -> None:
    stage = Stage([private("books", "service:shop")])

    published = await stage.plan(asked(asker="shop", user=User(user_id="x"), kb_ids=["books"]))

    assert kinds(published) == [RetrievalPlanned, RetrievalRequested]


async def test_b06_another_question_with_the_same_id_is_a_conflict() -> None:
    first = question()
    second = question("Something else?", question_id=first.question_id)

    rejection = await rejected(Stage([HANDBOOK], log=KnownLog(noted(first))), second)

    assert (rejection.problem.status, rejection.fingerprint) == (409, second.fingerprint)


async def test_b06_another_question_with_the_id_of_one_on_record_is_a_conflict() -> None:
    first = question()
    stage = Stage([HANDBOOK], RecordingBus(record=on_record(first, InteractionStatus.FINISHED)))

    rejection = await rejected(stage, question("Something else?", question_id=first.question_id))

    assert rejection.problem.status == 409
    assert stage.bus.replayed == []


@pytest.mark.parametrize("status", FINAL)
async def test_b06_a_question_that_ended_is_told_again_and_not_run_again(status: InteractionStatus) -> None:
    event = question()
    stage = Stage([HANDBOOK], RecordingBus(record=on_record(event, status)))

    published = await stage.plan(event)

    assert published == []
    assert stage.bus.replayed == [event.question_id]


async def test_b06_a_question_whose_log_has_ended_is_told_again() -> None:
    event = question()
    bus = RecordingBus(record=on_record(event, InteractionStatus.FINISHED))

    published = await Stage([HANDBOOK], bus, KnownLog(noted(event, is_ended=True, is_claimed=True))).plan(event)

    assert published == []
    assert bus.replayed == [event.question_id]


async def test_b06_a_question_that_ended_a_moment_ago_is_told_again_once_it_is_on_record() -> None:
    event = question()
    bus = RecordingBus(record=on_record(event, InteractionStatus.FINISHED))
    bus.pending = 2

    published = await Stage([HANDBOOK], bus, KnownLog(noted(event, is_ended=True, is_claimed=True))).plan(event)

    assert published == []
    assert bus.replayed == [event.question_id]


async def test_an_outcome_that_is_not_on_record_yet_comes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "OUTCOME_PAUSE", 0.0)
    event = question()
    stage = Stage([HANDBOOK], log=KnownLog(noted(event, is_ended=True, is_claimed=True)))

    assert await stage.plan(event) == []
    assert stage.bus.replayed == []


async def test_a_question_on_record_without_an_outcome_is_planned() -> None:
    event = question()
    stage = Stage([HANDBOOK], RecordingBus(record=on_record(event, InteractionStatus.PENDING)))

    assert kinds(await stage.plan(event)) == [RetrievalPlanned, RetrievalRequested]


async def test_b01_a_question_that_a_generator_has_gets_no_second_plan() -> None:
    event = question()
    stage = Stage([HANDBOOK], log=KnownLog(noted(event, is_claimed=True)))

    assert kinds(await stage.plan(event)) == [RetrievalRequested]


async def test_a_question_that_a_generator_has_is_not_rejected_any_more() -> None:
    event = question()
    stage = Stage([], log=KnownLog(noted(event, is_claimed=True)))

    assert await stage.plan(event) == []


async def test_an_opening_by_somebody_who_did_not_know_the_question_is_no_conflict() -> None:
    event = question()
    opening = Opening(is_new=False, user="u", fingerprint="", is_claimed=False)

    published = await Stage([HANDBOOK], log=KnownLog(opening)).plan(event)

    assert kinds(published) == [RetrievalPlanned, RetrievalRequested]


async def test_without_redis_a_question_is_planned_all_the_same() -> None:
    published = await Stage([HANDBOOK], log=KnownLog(is_away=True)).plan(question())

    assert kinds(published) == [RetrievalPlanned, RetrievalRequested]


async def test_a_question_past_its_deadline_fails_at_once() -> None:
    event = question(seconds=-1)

    (outcome,) = await Stage([HANDBOOK]).plan(event)

    assert isinstance(outcome, InteractionFinished)
    assert outcome.interaction.status is InteractionStatus.FAILED
    assert outcome.interaction.degraded == "no answer within the time limit"


async def test_a_question_past_its_deadline_that_a_generator_has_ends_there() -> None:
    event = question(seconds=-1)

    assert await Stage([HANDBOOK], log=KnownLog(noted(event, is_claimed=True))).plan(event) == []


async def test_b06_a_late_question_with_the_id_of_another_one_does_not_end_it() -> None:
    first = question()
    second = question("Something else?", question_id=first.question_id, seconds=-1)

    rejection = await rejected(Stage([HANDBOOK], log=KnownLog(noted(first))), second)

    assert rejection.problem.status == 409


async def test_a_question_stopped_before_it_is_planned_is_not_searched_for() -> None:
    event = question()

    (planned,) = await Stage([HANDBOOK], log=KnownLog(noted(event, is_stopped=True))).plan(event)

    assert isinstance(planned, RetrievalPlanned)
    assert (planned.queries, planned.kb_ids) == ((), ())
    assert planned.session.params.kb_ids == ("handbook",)


async def test_planning_that_takes_too_long_is_tried_again() -> None:
    event = question(session_id=uuid4(), kb_ids=None, seconds=0.05)
    stage = Stage([HANDBOOK], NeverAnswers())

    with pytest.raises(TransientError):
        await stage.plan(event)

    assert stage.bus.published == []


async def test_a_service_that_asks_too_much_is_told_when_to_come_back() -> None:
    stage = Stage([HANDBOOK], admission=Doorkeeper(Refusal(TOO_MANY)))

    rejection = await rejected(stage, question(asker="shop", kb_ids=["handbook"]))

    assert (rejection.problem.status, rejection.retry_after) == (429, 7.0)


async def test_the_questions_of_the_gateway_are_counted_there() -> None:
    stage = Stage([HANDBOOK])

    await stage.plan(question())

    assert stage.admission.admitted == []


async def test_a_question_that_is_rejected_is_not_counted() -> None:
    stage = Stage([HANDBOOK])

    await stage.plan(asked(asker="shop", kb_ids=["nowhere"]))

    assert stage.admission.admitted == []


async def test_b11_a_question_that_could_not_be_planned_ends_as_failed() -> None:
    event = question()
    stage = Stage([HANDBOOK])

    await stage.planner.give_up(event, "bug")

    (outcome,) = stage.bus.published
    assert (outcome.interaction.status, outcome.interaction.degraded) == (
        InteractionStatus.FAILED,
        "planning failed: bug",
    )


async def test_a_question_that_a_generator_has_is_not_ended_by_the_planner() -> None:
    event = question()
    stage = Stage([HANDBOOK], log=KnownLog(noted(event, is_claimed=True)))

    await stage.planner.give_up(event, "bug")

    assert stage.bus.published == []


async def test_what_can_not_be_planned_does_not_end_another_question_with_its_id() -> None:
    first = question()
    stage = Stage([HANDBOOK], log=KnownLog(noted(first)))

    await stage.planner.give_up(question("Something else?", question_id=first.question_id), "bug")

    assert kinds(stage.bus.published) == [QuestionRejected]


async def test_an_unreadable_message_brings_its_asker_a_rejection() -> None:
    stage = Stage()

    await stage.planner.refuse("qa.v1.question.asked.shop", b"{bad json", "unreadable")

    (rejection,) = stage.bus.published
    assert (rejection.full_subject, rejection.problem.status) == ("qa.v1.question.rejected.shop", 422)


async def test_a_rejection_of_the_same_question_asked_again_is_not_dropped() -> None:
    event = asked(kb_ids=["nowhere"])
    again = event.model_copy(update={"occurred_at": now() + timedelta(seconds=5)})

    first, second = await rejected(Stage(), event), await rejected(Stage(), again)

    assert first.event_id != second.event_id


async def test_a_rejection_published_twice_for_one_message_is_one() -> None:
    event = asked(kb_ids=["nowhere"])

    first, second = await rejected(Stage(), event), await rejected(Stage(), event)

    assert first.event_id == second.event_id
