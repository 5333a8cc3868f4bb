"""Errors over HTTP: one shape, with the fields that are wrong."""

import httpx
import pytest
from fastapi import FastAPI
from starlette.exceptions import HTTPException

from citewire.runtime.errors import TransientError, conflict, invalid, not_found, overloaded, too_many, unauthorised
from gateway.accept import Ask
from gateway.problems import install_problem_handlers


def client(error: Exception | None = None) -> httpx.AsyncClient:
    """A client of an application whose routes read a question, and raise `error`."""
    app = FastAPI()
    install_problem_handlers(app)

    @app.post("/questions/{number}")
    async def ask(number: int, body: Ask) -> int:
        if error is not None:
            raise error
        return number

    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


async def post(error: Exception | None = None, *, path: str = "/questions/1", content: str = "") -> httpx.Response:
    async with client(error) as http:
        headers = {"Content-Type": "application/json"}
        return await http.post(path, content=content or '{"question": "Why?"}', headers=headers)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (unauthorised("no key"), 401),
        (not_found("thing"), 404),
        (conflict("taken"), 409),
        (invalid("question", "is empty"), 422),
        (overloaded("full"), 503),
        (too_many("too-many-questions", "over the limit", 3), 429),
        (TransientError("Redis: away"), 503),
        (HTTPException(405, "Method Not Allowed"), 405),
    ],
)
async def test_what_a_route_raises_is_a_problem_document(error: Exception, status: int) -> None:
    response = await post(error)

    assert response.status_code == response.json()["status"] == status
    assert response.headers["content-type"] == "application/problem+json"
    assert {"type", "title"} <= response.json().keys()


@pytest.mark.parametrize(
    "error",
    [
        overloaded("full", retry_after=7),
        too_many("too-many-questions", "over the limit", retry_after=7),
        TransientError("away"),
        HTTPException(503, "Service Unavailable"),
        HTTPException(429, "Too Many Requests"),
    ],
    ids=repr,
)
async def test_j02_each_429_and_503_says_when_to_come_back(error: Exception) -> None:
    response = await post(error)

    assert response.headers["retry-after"] == str(response.json()["retry_after"])


async def test_a_401_says_how_to_sign_in() -> None:
    response = await post(unauthorised("no key"))

    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("{}", "question"),
        ('{"question": ""}', "question"),
        ('{"question": "Why?", "params": {"top_k": 0}}', "params.top_k"),
        ('{"question": "Why?", "params": {"topk": 3}}', "params.topk"),
        ('{"question": "Why?", "kb_ids": ["ok", "Not Ok"]}', "kb_ids.1"),
        ('{"question": "Why?", "session_id": "x"}', "session_id"),
        ("[]", "body"),
        ("null", "body"),
    ],
)
async def test_a_wrong_field_is_named_as_the_sender_wrote_it(content: str, field: str) -> None:
    response = await post(content=content)

    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == [field]
    assert field in response.json()["detail"]


async def test_all_wrong_fields_are_named() -> None:
    response = await post(content='{"question": "", "nonsense": 1, "stream": "maybe"}')

    assert {error["field"] for error in response.json()["errors"]} == {"question", "nonsense", "stream"}


async def test_a_wrong_path_is_named_by_its_parameter() -> None:
    response = await post(path="/questions/x")

    assert [error["field"] for error in response.json()["errors"]] == ["number"]


async def test_a_field_named_like_a_place_keeps_its_name() -> None:
    response = await post(content='{"question": "Why?", "query": 1}')

    assert [error["field"] for error in response.json()["errors"]] == ["query"]


async def test_a_body_that_is_no_json_is_a_400() -> None:
    response = await post(content="{bad json")

    assert (response.status_code, response.json()["type"]) == (400, "invalid-json")


async def test_an_unknown_path_is_a_problem_too() -> None:
    response = await post(path="/nowhere")

    assert (response.status_code, response.json()["type"]) == (404, "not-found")
    assert response.headers["content-type"] == "application/problem+json"
