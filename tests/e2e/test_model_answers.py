"""Answers by a model end to end: whole ones, stopped ones, and none at all where nothing may leave the machine."""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource

from citewire.contracts.providers import AnswerForm, Protocol
from documents import upload
from model_questions import KB, KEY, QUESTION, SAID, TEXT, Desk, check_answer, scripted
from scripted_model import Answer, ScriptedModel, pieces, reasoning, silent
from stack import Stack
from waiting import until

ALL_PURPOSES = {"use_for_ask": True, "use_for_rewrite": True, "use_for_contextual": True}

each_protocol = pytest.mark.parametrize("protocol", [Protocol.RESPONSES, Protocol.CHAT])
each_form = pytest.mark.parametrize("form", [AnswerForm.INLINE, AnswerForm.STRUCTURED])


@pytest.fixture
async def model() -> AsyncGenerator[ScriptedModel]:
    async with scripted() as server:
        yield server


@each_protocol
@each_form
async def test_a_model_answers_with_proved_citations_and_its_usage(
    protocol: Protocol, form: AnswerForm, model: ScriptedModel, desk: Desk
) -> None:
    model.play(reasoning("Hm", then=pieces(*SAID[form], usage=(1_200, 9, 2))))
    await desk.set_model(model.url, protocol, form)

    asked = await desk.ask()

    check_answer(asked)
    assert asked.answer.text == TEXT
    assert (asked.done["status"], asked.done["degraded"]) == ("finished", None)
    usage = {"input_tokens": 1_200, "cached_tokens": 0, "output_tokens": 9, "reasoning_tokens": 2, "requests": 1}
    assert asked.done["generator"] == {"made_by": "model", "provider": "main", "model": "scripted", "usage": usage}
    assert [citation["number"] for citation in asked.done["citations"]] == [1]
    assert {quote["verdict"] for quote in asked.done["citations"][0]["quotes"]} == {"exact"}


@each_protocol
@each_form
async def test_the_first_words_are_there_before_the_model_has_said_the_second(
    protocol: Protocol, form: AnswerForm, model: ScriptedModel, desk: Desk
) -> None:
    model.play(pieces(*SAID[form], pace=60))
    await desk.set_model(model.url, protocol, form)

    async with asking(desk) as response:
        first = await anext(texts(response))

        assert first == "A trip"
        assert model.pieces_sent == 1


@each_protocol
async def test_b07_stopping_closes_the_models_connection(protocol: Protocol, model: ScriptedModel, desk: Desk) -> None:
    model.play(pieces(*[f"word {number} " for number in range(1000)], pace=0.05))
    await desk.set_model(model.url, protocol, AnswerForm.INLINE)
    async with asking(desk) as response:
        deltas = texts(response)
        for _ in range(3):
            await anext(deltas)

        stopped_at = await stop(desk, response)
        rest = [text async for text in deltas]

    await until(lambda: model.requests[0].closed_early)
    assert (model.requests[0].closed_at or 0) - stopped_at < 1
    assert len(rest) < 30
    assert await status_of(desk, response) == "stopped"


@each_protocol
@pytest.mark.parametrize("reply", [silent(), silent(sends_head=False)], ids=["no first token", "no status"])
async def test_b07_stopping_works_before_the_first_token(
    protocol: Protocol, reply: Answer, model: ScriptedModel, desk: Desk
) -> None:
    model.play(reply)
    await desk.set_model(model.url, protocol, AnswerForm.INLINE)
    async with asking(desk) as response:
        await until(lambda: bool(model.requests))

        stopped_at = await stop(desk, response)
        rest = [text async for text in texts(response)]

    await until(lambda: model.requests[0].closed_early)
    assert (model.requests[0].closed_at or 0) - stopped_at < 1
    assert rest == []
    assert await status_of(desk, response) == "stopped"


async def test_a_change_of_the_settings_counts_for_the_next_question(model: ScriptedModel, desk: Desk) -> None:
    model.play(pieces("The old model [1]."), pieces("The new model [1]."))
    await desk.set_model(model.url, Protocol.CHAT, AnswerForm.INLINE, model="old")
    before = await desk.ask()

    await desk.set_model(model.url, Protocol.RESPONSES, AnswerForm.INLINE, model="new")
    after = await desk.ask()

    assert (before.answer.text, after.answer.text) == ("The old model [1].", "The new model [1].")
    assert [request.path for request in model.requests] == ["/v1/chat/completions", "/v1/responses"]
    assert [request.body["model"] for request in model.requests] == ["old", "new"]


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"key": ""}, ["key"]),
        ({"model": ""}, ["model"]),
        ({"key": "", "model": ""}, ["model", "key"]),
        ({"enabled": False}, []),
    ],
    ids=["no key", "no model", "neither", "disabled"],
)
async def test_h08_nothing_is_sent_unless_all_is_there_and_enabled(
    settings: dict[str, Any], missing: list[str], model: ScriptedModel, desk: Desk, model_stack: Stack
) -> None:
    view = await desk.set_model(model.url, Protocol.CHAT, AnswerForm.INLINE, **ALL_PURPOSES | settings)

    await desk.admin.post("/v1/settings/model/providers/main/check")
    await asyncio.to_thread(upload_one, model_stack)
    asked = await desk.ask()

    assert (view["is_usable"], view["missing"], view["serves"]) == (False, missing, [])
    assert asked.done["generator"]["made_by"] == "extractive"
    assert asked.done["planner"]["made_by"] == "rules"
    assert asked.done["status"] == "finished"
    assert model.connections_ever == 0


async def test_h08_without_an_address_nothing_is_sent(desk: Desk) -> None:
    view = await desk.set_model("", Protocol.CHAT, AnswerForm.INLINE, **ALL_PURPOSES)

    asked = await desk.ask()

    assert (view["is_usable"], view["missing"]) == (False, ["address"])
    assert asked.done["generator"]["made_by"] == "extractive"


async def test_a_model_that_only_plans_writes_no_answer(model: ScriptedModel, desk: Desk) -> None:
    model.always(pieces("{}"))
    await desk.set_model(model.url, Protocol.CHAT, AnswerForm.INLINE, use_for_ask=False, use_for_rewrite=True)

    asked = await desk.ask()

    check_answer(asked)
    assert asked.done["generator"]["made_by"] == "extractive"
    assert len(model.requests) == 1
    assert "standalone_question" in model.requests[0].body["messages"][0]["content"]


async def test_a_model_for_documents_is_asked_nothing_by_a_question(model: ScriptedModel, desk: Desk) -> None:
    await desk.set_model(model.url, Protocol.CHAT, AnswerForm.INLINE, use_for_ask=False, use_for_contextual=True)

    asked = await desk.ask()

    check_answer(asked)
    assert asked.done["generator"]["made_by"] == "extractive"
    assert model.connections_ever == 0


async def test_the_key_goes_to_the_model_alone_and_the_prompt_has_no_ids(model: ScriptedModel, desk: Desk) -> None:
    model.play(pieces(*SAID[AnswerForm.INLINE]))
    await desk.set_model(model.url, Protocol.RESPONSES, AnswerForm.INLINE)

    asked = await desk.ask()

    request = model.requests[0]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    sent = str(request.body)
    assert KEY not in sent
    source = asked.answer.sources["sources"][0]
    assert source["doc_id"] not in sent
    assert asked.answer.question_id not in sent


def upload_one(stack: Stack) -> None:
    with stack.client() as admin:
        upload(admin, KB, "meals.md", b"# Meals\n\nMeals are paid up to 40 euros per day.\n")


def asking(desk: Desk) -> Any:
    return desk.user.stream("POST", "/v1/questions", json={"question": QUESTION, "kb_ids": [KB]})


async def texts(response: httpx.Response) -> AsyncGenerator[str]:
    async for event in EventSource(response).aiter_sse():
        if event.event == "delta":
            yield event.json()["text"]


async def stop(desk: Desk, response: httpx.Response) -> float:
    """Stop the answer; the moment before, on the clock of the scripted model."""
    at = time.monotonic()
    stopped = await desk.user.post(f"/v1/questions/{response.headers['X-Question-Id']}/stop")
    assert stopped.is_success, stopped.text
    return at


async def status_of(desk: Desk, response: httpx.Response) -> str:
    stored = await desk.user.get(f"/v1/questions/{response.headers['X-Question-Id']}")
    return str(stored.json()["status"])
