"""Which models are asked for a plan, and what follows when they fail."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from autoquery.model_plan import models_to_try
from autoquery.settings import Settings
from builders import knowledge_base, private
from citewire.contracts.events import QuestionAsked, RetrievalPlanned, RetrievalRequested
from citewire.contracts.evidence import SearchQuery
from citewire.contracts.provenance import Maker, Planner, Usage
from citewire.contracts.requests import SessionContext
from citewire.contracts.sessions import SessionParams
from citewire.runtime.delivery import delivery_count
from citewire.runtime.errors import Refusal, TransientError, too_many
from citewire.runtime.model.failures import Failure, ModelFailed
from model_stage import FixedProviders, SayingClient, provider
from planner_stage import Doorkeeper, KnownLog, RecordingBus, Stage, asked, noted, session_of
from waiting import until

A, B = knowledge_base("a"), knowledge_base("b")
BUSY = ModelFailed("main", Failure.RATE_LIMITED, "answered 429 (too many requests)")
ONE_CALL = Usage(input_tokens=100, output_tokens=10, requests=1)
TWO_CALLS = Usage(input_tokens=200, output_tokens=20, requests=2)


def says(*queries: tuple[str, str], **fields: Any) -> str:
    items = [{"query": query, "kb_id": kb_id} for query, kb_id in queries]
    return json.dumps({"standalone_question": "", "search_needed": True, "queries": items} | fields)


def stage(client: SayingClient | None, *, context: SessionContext | None = None, **parts: Any) -> Stage:
    return Stage([A, B], RecordingBus(context), providers=FixedProviders(client), **parts)


async def planned(
    client: SayingClient | None, *, context: SessionContext | None = None, **fields: Any
) -> RetrievalPlanned:
    """The plan of a question to two knowledge bases."""
    scope = {"session_id": context.session.session_id} if context else {"kb_ids": ["a", "b"]}
    plan, *_ = await stage(client, context=context).plan(asked(**scope | fields))
    assert isinstance(plan, RetrievalPlanned)
    return plan


def by_rules(question: str) -> tuple[SearchQuery, ...]:
    return tuple(SearchQuery(query=question, kb_id=kb_id) for kb_id in ("a", "b"))


async def test_a_model_plans_and_the_plan_says_so() -> None:
    plan = await planned(SayingClient(says(("tower height", "b"))))

    assert plan.queries == (SearchQuery(query="tower height", kb_id="b"),)
    assert plan.planner == Planner(made_by=Maker.MODEL, provider="main", model="scripted", usage=ONE_CALL)
    assert plan.degraded is None


async def test_only_knowledge_bases_with_a_query_are_waited_for_and_asked() -> None:
    published = await stage(SayingClient(says(("tower height", "b")))).plan(asked(kb_ids=["a", "b"]))

    plan, *requests = published
    assert plan.kb_ids == ("b",)
    assert [(request.kb_id, request.is_alone) for request in requests] == [("b", True)]


async def test_h08_without_a_provider_the_rules_plan_and_nothing_is_degraded() -> None:
    plan = await planned(None, question="Who leads it?")

    assert (plan.queries, plan.planner, plan.degraded) == (by_rules("Who leads it?"), Planner(), None)


async def test_h08_a_provider_that_is_not_for_planning_is_not_asked() -> None:
    client = SayingClient(says(("tower", "a")), use_for_rewrite=False)

    plan = await planned(client)

    assert (client.asked, plan.planner.made_by, plan.degraded) == ([], Maker.RULES, None)


async def test_without_a_knowledge_base_no_model_is_asked() -> None:
    client = SayingClient(says(("tower", "a")))

    (plan,) = await stage(client).plan(asked())

    assert (client.asked, plan.kb_ids, plan.planner.search_needed) == ([], (), True)


@pytest.mark.parametrize(
    ("settings", "wished", "models"),
    [
        ({}, "", ("scripted",)),
        ({"auto_query_model": "weak"}, "", ("weak", "scripted")),
        ({"auto_query_model": "weak", "fallback_model": "strong"}, "", ("weak", "strong")),
        ({"fallback_model": "strong"}, "", ("scripted", "strong")),
        ({"auto_query_model": "weak", "fallback_model": "weak"}, "", ("weak",)),
        ({"auto_query_model": "weak"}, "mine", ("mine", "scripted")),
        ({"auto_query_model": "weak"}, "scripted", ("scripted",)),
    ],
)
def test_q2_the_weaker_model_goes_before_one_stronger(
    settings: dict[str, str], wished: str, models: tuple[str, ...]
) -> None:
    assert models_to_try(provider(**settings), wished) == models


@pytest.mark.parametrize("failure", [BUSY, "no plan", says(), "[]", "{" * 5000])
async def test_q2_the_stronger_model_plans_where_the_weaker_fails(failure: str | Exception) -> None:
    client = SayingClient(failure, says(("tower", "a")), auto_query_model="weak", fallback_model="strong")

    plan = await planned(client)

    assert [request.model for request in client.asked] == ["weak", "strong"]
    assert plan.queries == (SearchQuery(query="tower", kb_id="a"),)
    assert plan.planner == Planner(made_by=Maker.MODEL, provider="main", model="strong", usage=TWO_CALLS)
    assert plan.degraded is None


async def test_q3_where_both_models_fail_the_rules_plan_and_say_why() -> None:
    client = SayingClient(BUSY, "no plan", auto_query_model="weak")

    plan = await planned(client, question="Who leads it?")

    assert len(client.asked) == 2
    assert plan.queries == by_rules("Who leads it?")
    assert plan.planner == Planner(usage=TWO_CALLS)
    assert plan.degraded == (
        "planned by rules: the model provider main answered 429 (too many requests); "
        "the model provider main gave no JSON object with a plan"
    )


async def test_the_same_reason_is_said_once() -> None:
    plan = await planned(SayingClient(BUSY, BUSY, auto_query_model="weak"))

    assert plan.degraded == "planned by rules: the model provider main answered 429 (too many requests)"


async def test_a_silent_model_does_not_hold_a_question_up() -> None:
    quick = stage(SayingClient(auto_query_model="weak"), settings=Settings(model_limit=0.02))

    async with asyncio.timeout(5):
        plan, *requests = await quick.plan(asked(kb_ids=["a", "b"]))

    assert plan.degraded == "planned by rules: the model provider main gave no plan within 0.0 seconds"
    assert [request.kb_id for request in requests] == ["a", "b"]


async def test_a_silent_model_leaves_most_of_an_answers_time() -> None:
    client = SayingClient()

    async with asyncio.timeout(5):
        plan = await planned(client, seconds=0.4)

    assert plan.degraded == "planned by rules: the model provider main gave no plan within 0.1 seconds"


async def test_a_slow_question_leaves_others_alone() -> None:
    silent = stage(SayingClient(), settings=Settings(model_limit=30))
    waiting = asyncio.create_task(silent.plan(asked(kb_ids=["a"], seconds=300)))
    plan = await planned(SayingClient(says(("tower", "a"))))
    waiting.cancel()

    assert plan.planner.made_by is Maker.MODEL


async def test_a_follow_up_is_rewritten_and_its_queries_stand_alone() -> None:
    client = SayingClient(says(("Heron project lead", "a"), standalone_question="Who leads Heron?"))

    plan = await planned(client, context=session_of("a", "b"), question="Who leads it?")

    assert plan.planner.rewritten_question == "Who leads Heron?"
    assert plan.queries == (SearchQuery(query="Heron project lead", kb_id="a"),)
    assert plan.question == "Who leads it?"
    assert json.loads(client.asked[0].messages[0].text)["history"] == [
        {"question": "What is Heron?", "answer": "Ada's secret project."}
    ]


async def test_s08_a_follow_up_whose_plan_failed_is_expanded_by_the_rules() -> None:
    plan = await planned(SayingClient(BUSY), context=session_of("a", "b"), question="Who leads it?")

    assert {query.context for query in plan.queries} == {("What is Heron?",)}
    assert plan.planner.rewritten_question == ""


async def test_e09_a_model_sees_neither_what_was_revoked_nor_what_was_said_of_it() -> None:
    client = SayingClient(says(("Heron", "secret")))
    context = session_of("a", "secret")
    revoked = Stage(
        [A, private("secret", "friend", title="Heron")], RecordingBus(context), providers=FixedProviders(client)
    )

    plan, *requests = await revoked.plan(asked(session_id=context.session.session_id))

    assert "secret" not in client.asked[0].messages[0].text
    assert [request.kb_id for request in requests] == ["a"]
    assert plan.degraded == "no longer there: secret"


async def test_q5_a_plan_without_search_asks_nobody() -> None:
    published = await stage(SayingClient(says(search_needed=False))).plan(asked("Hello!", kb_ids=["a", "b"]))

    (plan,) = published
    assert (plan.queries, plan.kb_ids) == ((), ())
    assert plan.planner.made_by is Maker.MODEL
    assert not plan.planner.search_needed
    assert plan.session.params.kb_ids == ("a", "b")


async def test_q5_without_a_model_that_answers_there_is_a_search() -> None:
    client = SayingClient(says(search_needed=False), auto_query_model="weak", use_for_ask=False)

    plan = await planned(client, question="Hello!")

    assert len(client.asked) == 1
    assert (plan.queries, plan.planner) == (by_rules("Hello!"), Planner(usage=ONE_CALL))
    assert plan.degraded == (
        "planned by rules: the model provider main wants no search, and there is no model to answer without one"
    )


async def test_parameters_of_the_session_choose_the_model_the_guidance_and_the_cap() -> None:
    params = SessionParams(auto_query_model="mine", auto_query_guidance="Use metres.", max_queries=2)
    client = SayingClient(says(("one", "a"), ("two", "a"), ("three", "a")))

    plan = await planned(client, params=params)

    (request,) = client.asked
    seen = json.loads(request.messages[0].text)
    assert (request.model, plan.planner.model) == ("mine", "mine")
    assert (seen["guidance"], seen["max_queries"]) == ("Use metres.", 2)
    assert len(plan.queries) == 2


async def test_f06_what_was_odd_about_the_models_call_is_told() -> None:
    class Forgetful(SayingClient):
        async def complete(self, request: Any, report: Any) -> str:
            report.problems.append("the provider read fewer tokens than were sent")
            return await super().complete(request, report)

    plan = await planned(Forgetful(says(("tower", "a"))))

    assert plan.degraded == "while planning: the provider read fewer tokens than were sent"
    assert plan.planner.made_by is Maker.MODEL


async def test_a_question_longer_than_the_context_that_plans_is_planned_by_the_rules() -> None:
    client = SayingClient(says(("tower", "a")), context_tokens=1024, use_for_ask=False)

    plan = await planned(client, question="word " * 700)

    assert client.asked == []
    assert plan.degraded == ("planned by rules: the question does not fit the context of the model provider main")


async def test_a_question_that_is_turned_away_costs_no_tokens() -> None:
    client = SayingClient(says(("tower", "a")))
    full = stage(client, admission=Doorkeeper(Refusal(too_many("rate", "Slower.", 7).problem)))

    await full.plan(asked(asker="shop", kb_ids=["a"]))

    assert client.asked == []


async def test_f05_a_question_that_the_answering_model_can_not_take_is_rejected() -> None:
    client = SayingClient(says(("tower", "a")), context_tokens=2048, max_output_tokens=256)

    (rejection,) = await stage(client).plan(asked("word " * 400, kb_ids=["a"]))

    assert (rejection.problem.status, rejection.problem.errors[0].field) == (422, "question")
    assert client.asked == []


async def test_f05_without_an_answering_model_its_context_does_not_matter() -> None:
    client = SayingClient(says(("tower", "a")), context_tokens=2048, max_output_tokens=256, use_for_ask=False)

    plan = await planned(client, question="word " * 400)

    assert plan.queries


async def test_a_question_delivered_again_is_planned_by_the_rules() -> None:
    client = SayingClient(says(("tower", "b")))
    token = delivery_count.set(2)

    plan, *requests = await stage(client).plan(asked("Who leads it?", kb_ids=["a", "b"]))
    delivery_count.reset(token)

    assert client.asked == []
    assert plan.degraded == "planned by rules: the question was delivered again"
    assert [request.kb_id for request in requests] == ["a", "b"]


class LosesRequests(RecordingBus):
    """Takes plans and no requests, until it is mended."""

    is_mended = False

    async def publish(self, event: Any) -> None:
        if isinstance(event, RetrievalRequested) and not self.is_mended:
            raise TransientError("NATS: away")
        await super().publish(event)


async def test_every_knowledge_base_of_a_plan_whose_requests_were_lost_is_asked_in_the_end() -> None:
    client, bus, event = SayingClient(says(("tower", "b"))), LosesRequests(), asked(kb_ids=["a", "b"])
    broken = Stage([A, B], bus, providers=FixedProviders(client))

    with pytest.raises(TransientError):
        await broken.plan(event)
    bus.is_mended = True
    token = delivery_count.set(2)
    first, second, *requests = await broken.plan(event)
    delivery_count.reset(token)

    assert first.kb_ids == ("b",)
    assert first.event_id == second.event_id
    assert {request.kb_id for request in requests} >= set(first.kb_ids)


async def test_a_question_that_a_generator_has_is_searched_everywhere() -> None:
    client, event = SayingClient(says(("tower", "b"))), asked("Who leads it?", kb_ids=["a", "b"])

    requests = await stage(client, log=KnownLog(noted(event, is_claimed=True))).plan(event)

    assert client.asked == []
    assert [(type(request), request.kb_id) for request in requests] == [
        (RetrievalRequested, "a"),
        (RetrievalRequested, "b"),
    ]


def stop(event: QuestionAsked, asker: str = "web") -> Any:
    return SimpleNamespace(subject=f"qa.v1.answer.stop.{asker}.{event.question_id}")


async def test_b07_a_stop_ends_planning_at_once() -> None:
    client, event = SayingClient(), asked(kb_ids=["a", "b"])
    running = stage(client)
    planning = asyncio.create_task(running.plan(event))
    await until(lambda: bool(client.asked))

    await running.stops.interrupt(stop(event))
    (plan,) = await planning

    assert (plan.queries, plan.kb_ids, plan.planner) == ((), (), Planner())
    assert running.log.stopped == [event.question_id]


async def test_another_asker_does_not_stop_planning() -> None:
    client, event = SayingClient(), asked(kb_ids=["a", "b"])
    running = stage(client, settings=Settings(model_limit=0.1))
    planning = asyncio.create_task(running.plan(event))
    await until(lambda: bool(client.asked))

    await running.stops.interrupt(stop(event, "shop"))
    plan, *_ = await planning

    assert plan.queries
    assert running.log.stopped == []


async def test_a_stop_of_a_planned_question_harms_nobody() -> None:
    event, planned_stage = asked(kb_ids=["a"]), stage(SayingClient(says(("tower", "a"))))
    await planned_stage.plan(event)

    await planned_stage.stops.interrupt(stop(event))

    assert planned_stage.log.stopped == []
