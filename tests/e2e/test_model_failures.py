"""Every failure of a model, in both interfaces and forms: one end, the right status, its cause, no key anywhere."""

import re
import socket
from collections.abc import AsyncGenerator, Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from citewire.contracts.providers import AnswerForm, Protocol
from model_failures import AFTER, BEFORE, Failure
from model_questions import FACT, SAID, TEXT, Asked, Desk, check_answer, leaks, scripted
from scripted_model import ScriptedModel, pieces, silent, status
from stack import Stack

PROTOCOLS = (Protocol.RESPONSES, Protocol.CHAT)
FORMS = (AnswerForm.INLINE, AnswerForm.STRUCTURED)


def each(
    failures: Sequence[Failure], pairs: Sequence[tuple[Protocol, AnswerForm]] = tuple(product(PROTOCOLS, FORMS))
) -> pytest.MarkDecorator:
    """All failures in interfaces and forms, as far as they can happen there."""
    return pytest.mark.parametrize(
        ("failure", "protocol", "form"),
        [
            pytest.param(failure, protocol, form, id=f"{failure.name}-{protocol}-{form}")
            for failure in failures
            for protocol, form in _possible(pairs, failure)
        ],
    )


def _possible(pairs: Sequence[tuple[Protocol, AnswerForm]], failure: Failure) -> Sequence[tuple[Protocol, AnswerForm]]:
    """The pairs in whose form a failure can happen; if in none, both interfaces in a form in which it can."""
    possible = [pair for pair in pairs if pair[1] in failure.forms]
    return possible if len(possible) > 1 else list(product(PROTOCOLS, failure.forms[:1]))


@pytest.fixture
async def model() -> AsyncGenerator[ScriptedModel]:
    async with scripted() as server:
        yield server


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that nobody listens on, and nobody else gets."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def check_replaced(asked: Asked, cause: str) -> None:
    """The same evidence answered by itself."""
    check_answer(asked)
    assert asked.done["status"] == "finished"
    assert asked.done["generator"]["made_by"] == "extractive"
    assert "14 days" in asked.answer.text
    check_cause(asked, cause)


def check_cause(asked: Asked, cause: str) -> None:
    assert re.search(cause, asked.done["degraded"] or "nothing was said"), asked.done["degraded"]
    assert not leaks(asked.streamed)
    assert not leaks(asked.stored)


# Where nothing was said, the form makes no difference: each interface with one of them.
@each(BEFORE, pairs=[(Protocol.RESPONSES, AnswerForm.INLINE), (Protocol.CHAT, AnswerForm.STRUCTURED)])
async def test_f03_evidence_answers_where_a_model_says_nothing(
    failure: Failure, protocol: Protocol, form: AnswerForm, model: ScriptedModel, desk: Desk
) -> None:
    model.play(failure.reply(SAID[form]))
    await desk.set_model(model.url, protocol, form, **failure.settings)

    asked = await desk.ask()

    check_replaced(asked, failure.cause)
    assert len(model.requests) == 1


@each(AFTER)
async def test_f01_f04_an_answer_that_breaks_off_is_incomplete(
    failure: Failure, protocol: Protocol, form: AnswerForm, model: ScriptedModel, desk: Desk
) -> None:
    model.play(failure.reply(SAID[form]))
    await desk.set_model(model.url, protocol, form, **failure.settings)

    asked = await desk.ask()

    check_answer(asked)
    assert asked.done["status"] == "incomplete"
    assert asked.done["generator"]["made_by"] == "model"
    assert asked.answer.text.startswith("A trip must be")
    assert FACT not in asked.answer.text
    check_cause(asked, failure.cause)
    assert len(model.requests) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_f03_nobody_listens(protocol: Protocol, closed_port: int, desk: Desk) -> None:
    await desk.set_model(f"http://127.0.0.1:{closed_port}/v1", protocol, AnswerForm.INLINE)

    check_replaced(await desk.ask(), "reach|connect")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_f03_a_name_that_nobody_has(protocol: Protocol, desk: Desk) -> None:
    await desk.set_model("https://model.invalid/v1", protocol, AnswerForm.INLINE)

    check_replaced(await desk.ask(), "reach|connect")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_f03_a_server_that_speaks_no_tls(protocol: Protocol, model: ScriptedModel, desk: Desk) -> None:
    await desk.set_model(model.url.replace("http:", "https:"), protocol, AnswerForm.INLINE)

    check_replaced(await desk.ask(), "reach|connect")
    assert not model.requests


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_failure_that_passes_is_tried_again_before_the_first_word(
    protocol: Protocol, model: ScriptedModel, desk: Desk
) -> None:
    model.play(status(503), pieces(*SAID[AnswerForm.INLINE], usage=(1_200, 9)))
    await desk.set_model(model.url, protocol, AnswerForm.INLINE, max_retries=1)

    asked = await desk.ask()

    check_answer(asked)
    assert asked.done["status"] == "finished"
    assert asked.done["generator"]["usage"]["output_tokens"] == 9
    assert asked.answer.text == TEXT
    assert len(model.requests) == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_time_of_an_answer_is_kept_for_the_evidence(
    protocol: Protocol, model: ScriptedModel, desk: Desk
) -> None:
    model.always(silent())
    await desk.set_model(model.url, protocol, AnswerForm.INLINE, max_retries=5)
    session = await desk.user.post("/v1/sessions", json={"params": {"kb_ids": ["travel"], "answer_timeout": 3}})

    asked = await desk.ask(session_id=session.json()["session_id"], kb_ids=None)

    check_replaced(asked, "did not finish")
    assert asked.done["elapsed_ms"]["total"] < 3000


def thoughts_in_pieces() -> list[Any]:
    text = f"<think>Hm, is it 13?</think>\n{TEXT}"
    return [pytest.param((text[:at], text[at:]), id=f"at {at}") for at in range(1, 29, 3)] + [pytest.param(tuple(text))]


@pytest.mark.parametrize("said", thoughts_in_pieces())
async def test_e07_reasoning_tags_are_never_seen(said: tuple[str, ...], model: ScriptedModel, desk: Desk) -> None:
    model.play(pieces(*said))
    await desk.set_model(model.url, Protocol.CHAT, AnswerForm.INLINE)

    asked = await desk.ask()

    check_answer(asked)
    assert asked.answer.text == TEXT
    assert asked.done["status"] == "finished"


async def test_a_check_of_the_settings_tells_the_cause_and_no_more(model: ScriptedModel, desk: Desk) -> None:
    model.always(status(401))
    await desk.set_model(model.url, Protocol.RESPONSES, AnswerForm.INLINE)

    checked = await desk.admin.post("/v1/settings/model/providers/main/check")

    assert checked.json()["ok"] is False
    assert "401" in checked.json()["problem"]
    assert not leaks(checked.content)


async def test_f03_the_key_is_nowhere(model_stack: Stack, model: ScriptedModel, desk: Desk) -> None:
    for failure in (*BEFORE[:10], *AFTER):
        model.play(failure.reply(SAID[AnswerForm.INLINE]))
        await desk.set_model(model.url, Protocol.CHAT, AnswerForm.INLINE, **failure.settings)
        await desk.ask()
    settings = await desk.admin.get("/v1/settings/model")

    assert len(model.requests) == len(BEFORE[:10]) + len(AFTER)
    assert not leaks(settings.content)
    assert not [data for data in desk.read if leaks(data)]
    files = [path for path in model_stack.data_dir.rglob("*") if path.is_file()]
    assert any(path.suffix == ".log" for path in files)
    assert {str(path): found for path in files if (found := leaks(path.read_bytes()))} == {}
