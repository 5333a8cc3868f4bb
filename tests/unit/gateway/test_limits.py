"""Bodies over the limit, whatever their headers say."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import Body, FastAPI, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.limits import BodyLimit
from gateway.problems import install_problem_handlers
from gateway.settings import Settings

SETTINGS = Settings(max_body=100, max_upload=1000)


def application() -> ASGIApp:
    """An application with a JSON route, an upload route that reads piece by piece, and one that reads nothing."""
    app = FastAPI()
    install_problem_handlers(app)
    app.add_middleware(BodyLimit, settings=SETTINGS)

    @app.post("/json")
    async def read_json(body: dict[str, str] = Body()) -> int:  # noqa: B008, FAST002 - FastAPI's own way
        return len(body)

    @app.post("/kbs/a/documents")
    async def upload(request: Request) -> int:
        return sum([len(piece) async for piece in request.stream()])

    @app.get("/json")
    async def read_nothing() -> int:
        return 0

    return app


def client(app: ASGIApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


async def pieces(*sizes: int) -> AsyncIterator[bytes]:
    """A body sent in pieces, and so without a length."""
    for size in sizes:
        yield b"x" * size


async def test_a_body_within_the_limit_passes() -> None:
    async with client(application()) as http:
        response = await http.post("/json", json={"a": "x"})

    assert (response.status_code, response.json()) == (200, 1)


async def test_a_declared_length_over_the_limit_is_refused_before_anything_is_read() -> None:
    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("the application was called")

    async with client(BodyLimit(never, SETTINGS)) as http:
        response = await http.post("/json", content=b"x" * 101)

    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == 413


async def test_a_body_without_a_length_is_counted_for_a_json_route() -> None:
    async with client(application()) as http:
        response = await http.post("/json", content=pieces(60, 60), headers={"Content-Type": "application/json"})

    assert (response.status_code, response.json()["type"]) == (413, "too-large")
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_body_without_a_length_is_counted_for_an_upload() -> None:
    async with client(application()) as http:
        small = await http.post("/kbs/a/documents", content=pieces(500, 500))
        large = await http.post("/kbs/a/documents", content=pieces(500, 501))

    assert (small.status_code, small.json()) == (200, 1000)
    assert large.status_code == 413


@pytest.mark.parametrize("length", ["0", "5", "nonsense", "-1"])
async def test_a_length_that_says_too_little_does_not_help(length: str) -> None:
    async with client(application()) as http:
        response = await http.post("/kbs/a/documents", content=pieces(2000), headers={"Content-Length": length})

    assert response.status_code == 413


async def test_only_an_upload_may_be_larger() -> None:
    async with client(application()) as http:
        upload = await http.post("/kbs/a/documents", content=b"x" * 500)
        other = await http.post("/json", content=b"x" * 500)

    assert (upload.status_code, other.status_code) == (200, 413)


async def test_reading_has_no_limit() -> None:
    async with client(application()) as http:
        response = await http.get("/json")

    assert response.status_code == 200
