"""The model client against the scripted server: every failure in both protocols, retries, limits, closing."""

import asyncio
import base64
import contextlib
import itertools
import logging
import traceback
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest

from citewire.contracts.provenance import Usage
from citewire.contracts.providers import Profile, Protocol
from citewire.runtime.model.client import ModelClient
from citewire.runtime.model.failures import Failure, ModelFailed
from citewire.runtime.model.requests import CallReport, JsonShape, ModelMessage, ModelRequest
from citewire.runtime.model.usage import READ_LESS
from model_stage import provider
from scripted_model import (
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
from waiting import until

SOON = timedelta(seconds=0.4)
TOO_LONG = {"error": {"code": "context_length_exceeded", "message": "SECRET"}}
FAILURES = {
    "400": (status(400), Failure.REFUSED_REQUEST),
    "400 context": (status(400, body=TOO_LONG), Failure.TOO_LONG),
    "401": (status(401), Failure.UNAUTHORISED),
    "403": (status(403), Failure.FORBIDDEN),
    "404": (status(404), Failure.NO_MODEL),
    "408": (status(408), Failure.TIMEOUT),
    "429": (status(429, retry_after=3), Failure.RATE_LIMITED),
    "500": (status(500), Failure.SERVER),
    "503": (status(503), Failure.SERVER),
    "no head": (silent(sends_head=False), Failure.TIMEOUT),
    "no token": (silent(), Failure.TIMEOUT),
    "no more tokens": (silent(after=2), Failure.TIMEOUT),
    "no more than thoughts": (reasoning("hm", then=silent()), Failure.TIMEOUT),
    "error": (error_in_stream(after=2), Failure.REPORTED),
    "error at once": (error_in_stream(after=0), Failure.REPORTED),
    "nested error": (error_in_stream(after=2, is_nested=True), Failure.REPORTED),
    "cut": (cut(after=2), Failure.CUT),
    "cut at once": (cut(after=0), Failure.CUT),
    "cut as if whole": (cut(after=2, is_clean=True), Failure.CUT),
    "failed": (failed(after=2), Failure.REPORTED),
    "length": (incomplete(after=2), Failure.LENGTH),
    "filtered": (incomplete(after=2, reason="content_filter"), Failure.CONTENT_FILTER),
    "refusal": (refusal("I can't"), Failure.REFUSAL),
    "empty": (pieces(), Failure.EMPTY),
    "blank": (pieces(" ", "\n", "\u3000"), Failure.EMPTY),
    "thoughts alone": (reasoning("hm", then=pieces()), Failure.EMPTY),
    "thoughts without end": (pieces("<think>", "hm"), Failure.EMPTY),
    "no JSON": (garbage(after=2), Failure.INVALID),
    "no JSON at once": (garbage(after=0), Failure.INVALID),
    "no object": (garbage(after=0, data=b"[1]"), Failure.INVALID),
    "deep JSON": (garbage(after=0, data=b"[" * 100_000), Failure.INVALID),
}
SAID_FIRST = {
    "no more tokens",
    "error",
    "nested error",
    "cut",
    "cut as if whole",
    "failed",
    "length",
    "filtered",
    "no JSON",
}

Opened = contextlib.AbstractAsyncContextManager[ModelClient]


@pytest.fixture(params=list(Protocol))
def protocol(request: pytest.FixtureRequest) -> Protocol:
    return request.param


@pytest.fixture
async def server() -> AsyncGenerator[ScriptedModel]:
    async with ScriptedModel() as running:
        yield running


@contextlib.asynccontextmanager
async def opened(server: ScriptedModel, protocol: Protocol, **settings) -> AsyncGenerator[ModelClient]:
    client = ModelClient(provider(address=server.url, protocol=protocol, **{"max_retries": 0, **settings}), server.key)
    yield client
    await client.aclose()


def question(text: str = "Why?", **fields) -> ModelRequest:
    return ModelRequest("scripted", "rules", (ModelMessage("user", text),), 100, **fields)


def limits_for(name: str) -> dict[str, timedelta]:
    """Short ones where a limit is what ends the call."""
    limits = {"no head": "first_token_timeout", "no token": "first_token_timeout"}
    limits |= {"no more tokens": "idle_timeout", "no more than thoughts": "idle_timeout"}
    return {limits[name]: SOON} if name in limits else {}


async def heard(client: ModelClient, report: CallReport | None = None) -> tuple[list[str], ModelFailed | None]:
    said = []
    try:
        async for piece in client.stream(question(), report or CallReport()):
            said.append(piece)  # noqa: PERF401 - what was said before a failure counts
    except ModelFailed as error:
        return said, error
    return said, None


async def test_the_pieces_come_as_the_model_gives_them_with_usage(server, protocol):
    server.play(pieces("Be", "cause", usage=(30, 5)))
    report = CallReport()

    async with opened(server, protocol) as client:
        said, error = await heard(client, report)

    assert (said, error) == (["Be", "cause"], None)
    assert report == CallReport(Usage(input_tokens=30, output_tokens=5, requests=1))


async def test_a_piece_comes_before_the_model_has_said_the_next(server, protocol):
    server.play(pieces("Be", "cause", pace=0.3))

    async with opened(server, protocol) as client, contextlib.aclosing(client.stream(question(), CallReport())) as said:
        first = await anext(said)

        assert (first, server.pieces_sent) == ("Be", 1)


@pytest.mark.parametrize("name", FAILURES)
async def test_each_failure_is_told_by_its_kind_behind_what_was_said(server, protocol, name):
    reply, failure = FAILURES[name]
    server.play(reply)

    async with opened(server, protocol, **limits_for(name)) as client:
        said, error = await heard(client)

    assert error is not None
    assert error.failure is failure
    assert "".join(said).strip() == ("word 1 word 2" if name in SAID_FIRST else "")


@pytest.mark.parametrize("name", FAILURES)
async def test_neither_key_nor_the_servers_words_are_in_any_failure(server, protocol, name, caplog):
    caplog.set_level(logging.DEBUG)
    server.play(FAILURES[name][0])

    async with opened(server, protocol, **limits_for(name)) as client:
        _, error = await heard(client)

    assert error is not None
    shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    written = shown + repr(error) + repr(vars(error)) + repr(vars(client)) + caplog.text
    for secret in (server.key, base64.b64encode(server.key.encode()).decode(), "own words", "SECRET", "went wrong"):
        assert secret not in written
    assert (error.__cause__, error.__context__) == (None, None)
    assert str(error).startswith("the model provider main ")


@pytest.mark.parametrize(
    "thoughts", [("<think>", "hm", "</think>"), ("<thi", "nk>hm</", "think>"), ("<reasoning>hm</reasoning>",)]
)
async def test_thoughts_between_tags_are_not_shown(server, protocol, thoughts):
    server.play(pieces(*thoughts, "Be", "cause"))

    async with opened(server, protocol) as client:
        text = await client.complete(question(), CallReport())

    assert text == "Because"


@pytest.mark.parametrize("is_summary", [False, True])
async def test_thoughts_in_fields_of_their_own_are_not_shown(server, protocol, is_summary):
    server.play(reasoning("hm", "well", then=pieces("Because", usage=(5, 9, 4)), is_summary=is_summary))
    report = CallReport()

    async with opened(server, protocol) as client:
        text = await client.complete(question(), report)

    assert text == "Because"
    assert report.usage == Usage(input_tokens=5, output_tokens=9, reasoning_tokens=4, requests=1)


async def test_tags_are_text_where_reasoning_has_fields_of_its_own(server, protocol):
    server.play(pieces("write <think>", " like this"))

    async with opened(server, protocol, profile=Profile.OPENAI) as client:
        assert await client.complete(question(), CallReport()) == "write <think> like this"


async def test_an_emoji_cut_in_two_comes_in_two_halves(server, protocol):
    server.play(pieces("\ud83d", "\ude00"))

    async with opened(server, protocol) as client:
        assert await client.complete(question(), CallReport()) == "\ud83d\ude00"


@pytest.mark.parametrize(
    "reply", [status(503), status(408), status(409), status(429), cut(after=0), silent()], ids=repr
)
async def test_a_failure_that_may_pass_is_tried_again_before_anything_is_said(server, protocol, reply):
    server.play(reply, pieces("Because", usage=(30, 5)))
    report = CallReport()

    async with opened(server, protocol, max_retries=1, first_token_timeout=timedelta(seconds=1)) as client:
        said, error = await heard(client, report)

    assert (said, error) == (["Because"], None)
    assert report.usage == Usage(input_tokens=30, output_tokens=5, requests=2)


@pytest.mark.parametrize(
    "reply",
    [
        status(400),
        status(401),
        status(404),
        cut(after=1),
        silent(after=1),
        reasoning("hm", then=cut(after=0)),
        pieces(),
    ],
    ids=repr,
)
async def test_no_other_failure_is_tried_again(server, protocol, reply):
    server.play(reply)

    async with opened(server, protocol, max_retries=3, idle_timeout=SOON) as client:
        await heard(client)

    assert len(server.requests) == 1


async def test_tries_end_with_their_number(server, protocol):
    server.always(status(503))
    report = CallReport()

    async with opened(server, protocol, max_retries=2) as client:
        _, error = await heard(client, report)

    assert error is not None
    assert (error.failure, len(server.requests)) == (Failure.SERVER, 3)
    assert report.usage == Usage(requests=3)


async def test_a_wait_that_is_asked_for_is_kept(server, protocol):
    server.play(status(429, retry_after=1), pieces("Because"))

    async with opened(server, protocol, max_retries=1) as client:
        await heard(client)

    first, second = (request.at for request in server.requests)
    assert second - first >= 1


async def test_a_long_wait_is_not_kept_but_told(server, protocol):
    server.play(status(429, retry_after=60))

    async with opened(server, protocol, max_retries=3) as client:
        _, error = await heard(client)

    assert error is not None
    assert (error.failure, error.retry_after, len(server.requests)) == (Failure.RATE_LIMITED, 60, 1)


async def test_a_call_ends_with_its_total_time_although_tokens_come(server, protocol):
    server.play(pieces(*["word "] * 100, pace=0.05))

    async with opened(server, protocol, total_timeout=timedelta(seconds=1)) as client:
        said, error = await heard(client)

    assert error is not None
    assert (error.failure, str(error)) == (Failure.TIMEOUT, "the model provider main did not finish within 1 s")
    assert said


async def test_a_call_may_have_less_time_than_the_provider_allows(server, protocol):
    server.play(silent(after=1))

    async with opened(server, protocol) as client:
        with pytest.raises(ModelFailed, match=r"^the model provider main did not finish within 0\.3 s$"):
            async for _ in client.stream(question(), CallReport(), 0.3):
                pass


async def test_slow_tokens_are_no_silence(server, protocol):
    server.play(reasoning(*["hm"] * 4, then=pieces(*["word "] * 4, pace=0.2)))

    async with opened(
        server, protocol, first_token_timeout=timedelta(seconds=1), idle_timeout=timedelta(seconds=1)
    ) as client:
        said, error = await heard(client)

    assert (len(said), error) == (4, None)


async def test_closing_the_generator_closes_the_connection_at_once(server, protocol):
    server.play(silent(after=1))

    async with opened(server, protocol) as client:
        said = client.stream(question(), CallReport())
        await anext(said)
        await said.aclose()

        await until(lambda: server.requests[0].closed_early, seconds=1)
        assert server.open_connections == 0


@pytest.mark.parametrize(
    "reply", [silent(), silent(after=1), silent(sends_head=False)], ids=["no token", "token", "no head"]
)
async def test_cancelling_a_call_closes_the_connection_at_once(server, protocol, reply):
    server.play(reply)

    async with opened(server, protocol) as client:
        call = asyncio.create_task(client.complete(question(), CallReport()))
        await until(lambda: bool(server.requests))
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call

        await until(lambda: server.open_connections == 0, seconds=1)


async def test_one_connection_serves_call_after_call(server, protocol):
    server.always(pieces("Because"))

    async with opened(server, protocol) as client:
        for _ in range(3):
            await client.complete(question(), CallReport())

    assert (len(server.requests), server.connections_ever) == (3, 1)


async def test_calls_run_side_by_side(server, protocol):
    server.always(pieces(*["word "] * 5, pace=0.02))

    async with opened(server, protocol) as client:
        texts = await asyncio.gather(*(client.complete(question(), CallReport()) for _ in range(20)))

    assert texts == ["word " * 5] * 20


async def test_the_form_of_an_answer_is_asked_for(server, protocol):
    server.play(pieces("{}"))

    async with opened(server, protocol) as client:
        await client.complete(question(shape=JsonShape("plan", {"type": "object"})), CallReport())

    body = server.requests[0].body
    told = body["text"]["format"] if protocol is Protocol.RESPONSES else body["response_format"]
    assert told["type"] == "json_schema"


async def test_f06_a_provider_that_read_less_than_was_sent_is_noted_once(server, protocol):
    server.play(status(503), pieces("Because", usage=(40, 5)))
    report = CallReport()

    async with opened(server, protocol, max_retries=1) as client:
        await client.complete(question("what is the service level? " * 200), report)

    assert report.problems == [READ_LESS]


async def test_f06_a_provider_that_read_all_is_not_noted(server, protocol):
    server.play(pieces("Because", usage=(1_250, 5)))
    report = CallReport()

    async with opened(server, protocol) as client:
        await client.complete(question("what is the service level? " * 200), report)

    assert report.problems == []


async def test_halves_of_surrogate_pairs_in_a_question_are_no_error(server, protocol):
    server.play(pieces("Because"))

    async with opened(server, protocol) as client:
        assert await client.complete(question("a\ud83d b\x00"), CallReport()) == "Because"


@pytest.mark.parametrize("key", ["", "two\nlines", "ключ", "a\x00b", "sk-\r\nx: y"])
def test_what_can_be_no_key_is_refused_without_being_repeated(key):
    with pytest.raises(ValueError, match=r"^the key of a model provider is one line of printable ASCII$"):
        ModelClient(provider(), key)


async def test_the_environment_changes_nothing(server, protocol, monkeypatch):
    names = ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET")
    for name in names:
        monkeypatch.setenv(name, "foreign")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://foreign.invalid/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "authorization: Bearer foreign\nx-foreign: foreign")
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.play(pieces("Because"))

    async with opened(server, protocol) as client:
        assert await client.complete(question(), CallReport()) == "Because"

    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {server.key}"
    assert "foreign" not in str(headers)


async def test_nothing_of_this_machine_is_told_to_a_provider(server, protocol):
    server.play(pieces("Because"))

    async with opened(server, protocol) as client:
        await client.complete(question(), CallReport())

    headers = server.requests[0].headers
    assert headers["accept-encoding"] == "identity"
    told = set(headers) - {"host", "accept", "accept-encoding", "connection", "content-type"}
    assert told <= {"authorization", "content-length", "user-agent", "idempotency-key", "x-stainless-retry-count"}


async def test_a_call_that_ends_early_is_counted(server, protocol):
    server.play(silent(after=1))
    report = CallReport()

    async with opened(server, protocol) as client:
        said = client.stream(question(), report)
        await anext(said)
        await said.aclose()

    assert report.usage == Usage(requests=1)


async def test_pauses_between_tries_grow(server, protocol):
    server.always(status(500))

    async with opened(server, protocol, max_retries=3) as client:
        await heard(client)

    times = [request.at for request in server.requests]
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert pauses[0] >= 0.12
    assert pauses[2] >= 0.5
