"""The whole chain with a real model: that all fits together, not that a model of this size is of use."""

from typing import Any

import pytest

from citewire.contracts.providers import AnswerForm, Protocol
from model.llama import PATIENCE, LocalModel
from model_questions import KB, Asked, Desk, check_answer, leaks

pytestmark = pytest.mark.timeout(2 * PATIENCE)

# What the model is trained to do, it does in few words; beyond these it begins to repeat itself.
OUTPUT = 160


async def ask_local(desk: Desk, model: LocalModel, form: AnswerForm, **settings: Any) -> Asked:
    """Ask the local model, with the time that it needs."""
    patience = {"first_token_timeout": 600, "idle_timeout": 600, "total_timeout": PATIENCE}
    limits = {"context_tokens": 6000, "max_output_tokens": OUTPUT, "model": model.name}
    await desk.set_model(model.address, Protocol.CHAT, form, **patience, **limits, **settings)
    params = {"kb_ids": [KB], "answer_timeout": PATIENCE, "target_output_length": "short"}
    session = await desk.user.post("/v1/sessions", json={"params": params})
    return await desk.ask(session_id=session.json()["session_id"], kb_ids=None)


def check_written(asked: Asked) -> None:
    """By the model, whole or cut at its limit; or by sentences, with the reason. What it cost is on record."""
    check_answer(asked)
    assert not leaks(asked.streamed)
    made_by, degraded = asked.done["generator"]["made_by"], asked.done["degraded"]
    assert made_by == "model" or "answered without a model" in degraded
    assert asked.done["status"] in {"finished", "incomplete"}
    assert asked.done["status"] == "finished" or degraded
    usage = asked.done["generator"]["usage"]
    assert usage["requests"] == 1
    assert usage["input_tokens"] > 100
    assert 0 < usage["output_tokens"] <= OUTPUT


async def test_an_answer_with_its_quotes_after_the_text(model: LocalModel, desk: Desk) -> None:
    asked = await ask_local(desk, model, AnswerForm.INLINE)

    check_written(asked)


async def test_an_answer_as_one_json_object(model: LocalModel, desk: Desk) -> None:
    asked = await ask_local(desk, model, AnswerForm.STRUCTURED)

    check_written(asked)


async def test_a_plan(model: LocalModel, desk: Desk) -> None:
    asked = await ask_local(desk, model, AnswerForm.INLINE, use_for_ask=False, use_for_rewrite=True)

    check_answer(asked)
    planner = asked.done["planner"]
    assert planner["made_by"] == "model" or "planned by rules" in asked.done["degraded"]
    assert planner["usage"]["requests"] == 1
    assert planner["usage"]["output_tokens"] > 0
