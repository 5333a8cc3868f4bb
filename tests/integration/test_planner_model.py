"""The planner with a real client and a scripted model: what goes over the wire, and what comes of it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest

from autoquery.settings import Settings
from builders import knowledge_base
from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.evidence import SearchQuery
from citewire.contracts.provenance import Maker
from citewire.contracts.providers import Protocol
from citewire.runtime.model.client import ModelClient
from model_stage import FixedProviders, provider
from planner_stage import RecordingBus, Stage, asked, session_of
from scripted_model import (
    Reply,
    ScriptedModel,
    cut,
    incomplete,
    pieces,
    refusal,
    silent,
    status,
)
from waiting import until

PROTOCOLS = pytest.mark.parametrize("protocol", [Protocol.RESPONSES, Protocol.CHAT])
# As many tokens as a plan's request has: fewer would look like a request that was cut.
SENT = 600
BY_RULES = tuple(SearchQuery(query="Who leads it?", kb_id=kb_id) for kb_id in ("a", "b"))


def plan_of(*queries: tuple[str, str], **fields: Any) -> str:
    items = [{"query": query, "kb_id": kb_id} for query, kb_id in queries]
    return json.dumps({"standalone_question": "", "search_needed": True, "queries": items} | fields)


def plans(*queries: tuple[str, str], spent: int = 40) -> Reply:
    return pieces(plan_of(*queries), usage=(SENT, spent))


@contextlib.asynccontextmanager
async def planning(
    server: ScriptedModel, protocol: Protocol = Protocol.RESPONSES, limit: float = 8, **settings: Any
) -> AsyncGenerator[Stage]:
    """A planner of two knowledge bases whose provider is the server, with a weak and a strong model."""
    given = {"address": server.url, "protocol": protocol, "auto_query_model": "weak", "fallback_model": "strong"}
    client = ModelClient(provider(**(given | {"max_retries": 0} | settings)), server.key)
    kbs = [knowledge_base("a", title="Projects"), knowledge_base("b", title="People")]
    try:
        yield Stage(kbs, providers=FixedProviders(client), settings=Settings(model_limit=limit))
    finally:
        await client.aclose()


async def plan(stage: Stage) -> RetrievalPlanned:
    planned, *_ = await stage.plan(asked("Who leads it?", kb_ids=["a", "b"]))
    assert isinstance(planned, RetrievalPlanned)
    return planned


def models_of(server: ScriptedModel) -> list[str]:
    return [request.body["model"] for request in server.requests]


@PROTOCOLS
async def test_a_plan_that_comes_in_pieces_is_searched(protocol: Protocol) -> None:
    text = plan_of(("project lead", "b"), standalone_question="Who leads Heron?")
    async with ScriptedModel() as server, planning(server, protocol) as stage:
        server.play(pieces(*text, usage=(SENT, 40, 15)))

        planned = await plan(stage)

    assert planned.queries == (SearchQuery(query="project lead", kb_id="b"),)
    assert planned.planner.rewritten_question == "Who leads Heron?"
    assert (planned.planner.made_by, planned.planner.model) == (Maker.MODEL, "weak")
    assert planned.planner.usage is not None
    assert planned.planner.usage.model_dump() == {
        "input_tokens": SENT,
        "cached_tokens": 0,
        "output_tokens": 40,
        "reasoning_tokens": 15,
        "requests": 1,
    }


@PROTOCOLS
async def test_q2_the_wire_carries_schema_temperature_and_data_apart_from_rules(protocol: Protocol) -> None:
    async with ScriptedModel() as server, planning(server, protocol) as stage:
        server.play(plans(("lead", "a")))

        await plan(stage)

    body = json.dumps(server.requests[0].body)
    assert server.requests[0].body["temperature"] == 0
    assert '"additionalProperties": false' in body
    assert "standalone_question" in body
    assert '\\"question\\": \\"Who leads it?\\"' in body


@PROTOCOLS
@pytest.mark.parametrize(
    "reply",
    [
        status(429, retry_after=30),
        pieces("[]"),
        pieces(plan_of()),
        refusal("I will not."),
        cut(after=2),
        incomplete(after=3),
    ],
)
async def test_q2_the_stronger_model_plans_after_any_failure_of_the_weaker(protocol: Protocol, reply: Reply) -> None:
    async with ScriptedModel() as server, planning(server, protocol) as stage:
        server.play(reply, plans(("project lead", "b")))

        planned = await plan(stage)

    assert models_of(server) == ["weak", "strong"]
    assert (planned.planner.model, planned.kb_ids, planned.degraded) == ("strong", ("b",), None)


@PROTOCOLS
async def test_q3_after_both_the_rules_plan_and_the_key_is_in_no_word(protocol: Protocol) -> None:
    async with ScriptedModel() as server, planning(server, protocol) as stage:
        server.play(status(401), status(429))

        planned = await plan(stage)

    assert planned.queries == BY_RULES
    assert planned.planner.made_by is Maker.RULES
    assert planned.degraded is not None
    assert planned.degraded.startswith("planned by rules: the model provider main ")
    assert "401" in planned.degraded
    assert "429" in planned.degraded
    assert server.key not in planned.model_dump_json()


async def test_a_failed_try_counts_in_what_was_spent() -> None:
    async with ScriptedModel() as server, planning(server) as stage:
        server.play(pieces("no plan", usage=(SENT, 20)), plans(("lead", "a"), spent=30))

        planned = await plan(stage)

    assert planned.planner.usage is not None
    assert (planned.planner.usage.input_tokens, planned.planner.usage.output_tokens) == (2 * SENT, 50)
    assert planned.planner.usage.requests == 2


@PROTOCOLS
@pytest.mark.parametrize("reply", [silent(sends_head=False), silent(after=2)])
async def test_a_silent_model_is_left_in_time_and_its_connection_is_closed(protocol: Protocol, reply: Reply) -> None:
    async with ScriptedModel() as server, planning(server, protocol, limit=0.2) as stage:
        server.play(reply, reply)

        async with asyncio.timeout(5):
            planned = await plan(stage)
        await until(lambda: server.open_connections == 0)

    assert models_of(server) == ["weak", "strong"]
    assert planned.queries == BY_RULES
    assert planned.degraded is not None
    assert planned.degraded.startswith("planned by rules: the model provider main ")


async def test_b07_a_stop_closes_the_connection_of_what_plans() -> None:
    async with ScriptedModel() as server, planning(server) as stage:
        server.play(silent(after=1))
        event = asked("Who leads it?", kb_ids=["a", "b"])
        running = asyncio.create_task(stage.plan(event))
        await until(lambda: server.pieces_sent == 1)

        message: Any = SimpleNamespace(subject=f"qa.v1.answer.stop.web.{event.question_id}")
        await stage.stops.interrupt(message)
        (planned,) = await running
        await until(lambda: server.open_connections == 0, 1)

    assert planned.kb_ids == ()


async def test_a_server_that_is_away_leaves_the_rules() -> None:
    async with ScriptedModel() as server:
        pass
    async with planning(server) as stage:
        planned = await plan(stage)

    assert planned.queries == BY_RULES
    assert planned.degraded is not None


async def test_h08_a_provider_without_the_switch_gets_no_connection() -> None:
    async with ScriptedModel() as server, planning(server, use_for_rewrite=False) as stage:
        planned = await plan(stage)

        assert server.connections_ever == 0
    assert (planned.queries, planned.degraded) == (BY_RULES, None)


@PROTOCOLS
async def test_e07_reasoning_in_the_text_is_no_part_of_a_query(protocol: Protocol) -> None:
    text = f"<think>revenue, so</think>```json\n{plan_of(('<think>hm</think>营收', 'a'))}\n```"
    async with ScriptedModel() as server, planning(server, protocol) as stage:
        server.play(pieces(*text))

        planned = await plan(stage)

    assert planned.queries == (SearchQuery(query="营收", kb_id="a"),)


async def test_the_history_goes_along() -> None:
    async with ScriptedModel() as server, planning(server) as stage:
        server.play(plans(("lead", "a")))
        stage.bus = RecordingBus(session_of("a", "b"))

        await stage.plan(asked("Who leads it?", session_id=session_of("a", "b").session.session_id))

    assert "Ada's secret project." in json.dumps(server.requests[0].body)
