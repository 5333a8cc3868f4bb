"""The scripted model through OpenAI's own client, in both of its interfaces."""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

import openai
import pytest

from scripted_model import (
    Answer,
    ScriptedModel,
    cut,
    error_in_stream,
    failed,
    garbage,
    incomplete,
    pieces,
    reasoning,
    refusal,
    silent,
    status,
)
from scripted_model.__main__ import read_script
from waiting import until


@pytest.fixture
async def server() -> AsyncGenerator[ScriptedModel]:
    async with ScriptedModel() as running:
        yield running


@pytest.fixture
async def client(server: ScriptedModel) -> AsyncGenerator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=server.url, api_key=server.key, max_retries=0, timeout=5) as made:
        yield made


async def responses(client: openai.AsyncOpenAI) -> list[Any]:
    stream = await client.responses.create(model="m", instructions="Be brief.", input="Why?", stream=True)
    return [event async for event in stream]


async def chunks(client: openai.AsyncOpenAI) -> list[Any]:
    stream = await client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Why?"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    return [chunk async for chunk in stream]


def kinds(events: list[Any]) -> list[str]:
    return [event.type.removeprefix("response.") for event in events]


def contents(found: list[Any], name: str = "content") -> list[str]:
    deltas = [chunk.choices[0].delta for chunk in found if chunk.choices]
    return [text for delta in deltas if (text := getattr(delta, name, None))]


async def test_a_response_has_its_events_in_order(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be", "cause", usage=(120, 2)))

    events = await responses(client)

    assert kinds(events) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert [event.sequence_number for event in events] == list(range(10))
    assert [event.delta for event in events[4:6]] == ["Be", "cause"]


async def test_a_completed_response_has_its_text_and_usage(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be", "cause", usage=(120, 2, 1)))

    response = (await responses(client))[-1].response

    assert response.output_text == "Because"
    assert response.status == "completed"
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.output_tokens_details.reasoning_tokens) == (120, 2, 1)


async def test_a_completion_comes_in_chunks_with_usage_last(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be", "cause", usage=(120, 2)))

    found = await chunks(client)

    assert contents(found) == ["Be", "cause"]
    assert [chunk.choices[0].finish_reason for chunk in found[:-1]] == [None, None, None, "stop"]
    assert not found[-1].choices
    assert (found[-1].usage.prompt_tokens, found[-1].usage.completion_tokens) == (120, 2)


async def test_no_usage_is_told_unless_the_request_asks(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be"))

    stream = await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Why?"}], stream=True
    )
    found = [chunk async for chunk in stream]

    assert all(chunk.usage is None for chunk in found)
    assert all(chunk.choices for chunk in found)


async def test_both_interfaces_answer_without_a_stream(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.always(pieces("Be", "cause", usage=(120, 2)))

    response = await client.responses.create(model="m", input="Why?")
    completion = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Why?"}])

    assert response.output_text == completion.choices[0].message.content == "Because"
    assert response.usage
    assert completion.usage
    assert response.usage.total_tokens == completion.usage.total_tokens == 122


async def test_what_was_asked_is_kept(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be"))

    await responses(client)

    asked = server.requests[0]
    assert asked.path == "/v1/responses"
    assert asked.headers["authorization"] == f"Bearer {server.key}"
    assert asked.body["instructions"] == "Be brief."
    assert asked.at <= time.monotonic()


async def test_a_client_keeps_its_connection(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be"), status(503), pieces("cause"))

    await responses(client)
    with pytest.raises(openai.InternalServerError):
        await chunks(client)
    await chunks(client)

    assert server.connections_ever == server.open_connections == 1


@pytest.mark.parametrize("said", ["a\x00b", "😀 𝐀", "營收\u2028\u2029", "\ud83d", "data: x\n\nevent: y"])
async def test_any_text_comes_through(server: ScriptedModel, client: openai.AsyncOpenAI, said: str) -> None:
    server.always(pieces(said))

    events, found = await responses(client), await chunks(client)

    assert events[4].delta == said
    assert contents(found) == [said]


async def test_pieces_leave_at_their_pace_without_drift(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces(*["x"] * 21, pace=0.01, delay=0.05))

    await responses(client)

    asked = server.requests[0]
    assert asked.pieces[0] - asked.at >= 0.05
    assert all(sent - asked.at >= 0.05 + number * 0.01 for number, sent in enumerate(asked.pieces))
    assert server.pieces_sent == 21


async def test_all_pieces_can_come_at_once(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be", "cause", pace=60, at_once=True))

    found = await chunks(client)

    assert contents(found) == ["Be", "cause"]
    assert server.pieces_sent == 2


async def test_a_piece_is_there_before_the_next_is_due(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be", "cause", pace=60))

    stream = await client.responses.create(model="m", input="Why?", stream=True)
    first = await anext(event async for event in stream if event.type == "response.output_text.delta")
    await stream.close()

    assert first.delta == "Be"
    assert server.pieces_sent == 1


async def test_a_client_that_goes_is_noticed(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be", "cause", pace=60))
    stream = await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Why?"}], stream=True
    )
    await anext(stream)

    await stream.close()

    await until(lambda: server.requests[0].closed_early)
    assert server.open_connections == 0


async def test_an_answer_that_was_read_was_not_closed_early(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be"))

    await responses(client)
    await client.close()

    await until(lambda: server.open_connections == 0)
    assert not server.requests[0].closed_early


async def test_a_wrong_key_is_refused_in_words_that_repeat_it(server: ScriptedModel) -> None:
    async with openai.AsyncOpenAI(base_url=server.url, api_key="sk-wrong", max_retries=0) as stranger:
        with pytest.raises(openai.AuthenticationError, match="sk-wrong"):
            await responses(stranger)


async def test_a_status_comes_with_its_retry_after(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(status(429, retry_after=2))

    with pytest.raises(openai.RateLimitError) as caught:
        await responses(client)

    assert caught.value.response.headers["retry-after"] == "2"


async def test_a_status_comes_with_a_body_of_the_tests_own(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(status(400, body={"error": {"message": "too long", "code": "context_length_exceeded"}}))

    with pytest.raises(openai.BadRequestError, match="too long") as caught:
        await chunks(client)

    assert caught.value.code == "context_length_exceeded"


async def test_a_status_may_come_with_a_page(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(status(502, body=b"<html>"))

    with pytest.raises(openai.InternalServerError) as caught:
        await chunks(client)

    assert caught.value.response.content == b"<html>"


async def test_tls_is_refused_at_once(server: ScriptedModel) -> None:
    address = server.url.replace("http:", "https:")

    async with openai.AsyncOpenAI(base_url=address, api_key=server.key, max_retries=0, timeout=5) as client:
        with pytest.raises(openai.APIConnectionError) as caught:
            await responses(client)

    assert "SSL" in str(caught.value.__cause__)
    assert not server.requests


async def test_an_unknown_path_is_not_found(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(pieces("Be"))

    with pytest.raises(openai.NotFoundError):
        await client.embeddings.create(model="m", input="Why?")


async def test_a_failed_response_keeps_what_was_said(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.always(failed(after=2, code="rate_limit_exceeded"))

    events = await responses(client)

    assert kinds(events)[-2:] == ["output_text.delta", "failed"]
    assert events[-1].response.error.code == "rate_limit_exceeded"
    with pytest.raises(openai.APIError, match="failed"):
        await chunks(client)


@pytest.mark.parametrize(("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter")])
async def test_an_incomplete_answer_tells_why(
    server: ScriptedModel, client: openai.AsyncOpenAI, reason: Any, finish: str
) -> None:
    server.always(incomplete(after=2, reason=reason))

    events, found = await responses(client), await chunks(client)

    assert events[-1].type == "response.incomplete"
    assert events[-1].response.incomplete_details.reason == reason
    assert events[-1].response.usage.output_tokens == 7
    assert found[-2].choices[0].finish_reason == finish


@pytest.mark.parametrize("is_nested", [True, False])
async def test_an_error_comes_inside_a_stream(
    server: ScriptedModel, client: openai.AsyncOpenAI, is_nested: bool
) -> None:
    server.always(error_in_stream(after=1, code="server_error", is_nested=is_nested))

    stream = await client.responses.create(model="m", input="Why?", stream=True)
    with pytest.raises(openai.APIError, match="wrong"):
        await raise_errors(stream)

    with pytest.raises(openai.APIError, match="something went wrong"):
        await chunks(client)


async def raise_errors(stream: Any) -> None:
    async for event in stream:
        if event.type == "error":
            raise openai.APIError(event.message, request=stream.response.request, body=None)


async def test_a_cut_breaks_the_connection(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.always(cut(after=2))

    with pytest.raises(openai.APIConnectionError):
        await responses(client)
    with pytest.raises(openai.APIConnectionError):
        await chunks(client)

    assert server.pieces_sent == 4


async def test_a_clean_cut_looks_like_an_end(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.always(cut(after=2, is_clean=True))

    events, found = await responses(client), await chunks(client)

    assert kinds(events)[-1] == "output_text.delta"
    assert found[-1].choices[0].finish_reason is None


@pytest.mark.parametrize("reply", [silent(), silent(after=2), silent(sends_head=False)])
async def test_a_silent_model_stays_until_the_client_goes(
    server: ScriptedModel, client: openai.AsyncOpenAI, reply: Answer
) -> None:
    server.play(reply)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await responses(client)

    await until(lambda: server.requests[0].closed_early)


async def test_a_refusal_has_its_own_field(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.always(refusal("I can't ", "say."))

    events, found = await responses(client), await chunks(client)

    assert kinds(events)[4:7] == ["refusal.delta", "refusal.delta", "refusal.done"]
    assert events[6].refusal == "I can't say."
    assert events[-1].response.output[0].content[0].refusal == "I can't say."
    assert contents(found, "refusal") == ["I can't ", "say."]


async def test_reasoning_stands_beside_the_text(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.always(reasoning("Hm", "m", then=pieces("Because")))

    events, found = await responses(client), await chunks(client)

    assert [event.delta for event in events if event.type == "response.reasoning_text.delta"] == ["Hm", "m"]
    assert [item.type for item in events[-1].response.output] == ["reasoning", "message"]
    assert events[-1].response.output[0].content[0].text == "Hmm"
    assert contents(found, "reasoning_content") == ["Hm", "m"]
    assert contents(found) == ["Because"]


async def test_reasoning_can_be_a_summary(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.play(reasoning("Hm", "m", then=pieces("Because"), is_summary=True))

    events = await responses(client)

    assert kinds(events)[2:9] == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ]
    assert events[-1].response.output[0].summary[0].text == "Hmm"


async def test_garbage_is_no_json(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.always(garbage(after=1))

    with pytest.raises(ValueError, match="Expecting value"):
        await responses(client)
    with pytest.raises(ValueError, match="Expecting value"):
        await chunks(client)


async def test_a_reply_can_depend_on_the_request(server: ScriptedModel, client: openai.AsyncOpenAI) -> None:
    server.always(lambda received: pieces(received.body["model"]))

    found = await chunks(client)

    assert contents(found) == ["m"]


async def test_a_request_beyond_the_script_is_told_at_the_end() -> None:
    async def ask_once() -> None:
        async with ScriptedModel() as server, openai.AsyncOpenAI(base_url=server.url, api_key=server.key) as client:
            with pytest.raises(openai.InternalServerError):
                await responses(client.with_options(max_retries=0))

    with pytest.raises(AssertionError, match="1 requests more"):
        await ask_once()


def test_a_script_can_be_a_file() -> None:
    script = read_script(
        """[{"reply": "status", "code": 429, "retry_after": 2},
            {"reply": "reasoning", "thoughts": ["Hm"], "then": {"reply": "pieces", "said": ["Be", "cause"], "pace": 1}},
            {"reply": "cut", "after": 1}]"""
    )

    assert script == [
        status(429, retry_after=2),
        reasoning("Hm", then=pieces("Be", "cause", pace=1)),
        cut(after=1),
    ]
