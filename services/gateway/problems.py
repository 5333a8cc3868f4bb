"""Every error over HTTP is an RFC 9457 problem document."""

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from citewire.contracts.problems import FieldError, Problem
from citewire.runtime.errors import Refusal, TransientError

MEDIA_TYPE = "application/problem+json"
# Seconds after which what failed for now may be tried again, where nobody knows better.
RETRY_AFTER = 2

_PASSING = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


def problem_response(problem: Problem) -> Response:
    """A problem document with its status and its Retry-After, which each 429 and 503 has."""
    if problem.status in _PASSING and problem.retry_after is None:
        problem = problem.model_copy(update={"retry_after": RETRY_AFTER})
    headers = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(problem.model_dump_json(exclude_none=True), problem.status, headers=headers, media_type=MEDIA_TYPE)


def install_problem_handlers(app: FastAPI) -> None:
    """Turn all that routes raise into problem documents."""

    @app.exception_handler(Refusal)
    async def refused(_: Request, refusal: Refusal) -> Response:
        return problem_response(refusal.problem)

    @app.exception_handler(TransientError)
    async def unavailable(_: Request, error: TransientError) -> Response:
        return problem_response(Problem(type="unavailable", title="Try again later", status=503, detail=str(error)))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return problem_response(_invalid_input(error))

    @app.exception_handler(HTTPException)
    async def plain(_: Request, error: HTTPException) -> Response:
        title = str(error.detail)
        return problem_response(Problem(type=title.lower().replace(" ", "-"), title=title, status=error.status_code))


def _invalid_input(error: RequestValidationError) -> Problem:
    errors = tuple(_field_error(item) for item in error.errors())
    if any(item["type"] == "json_invalid" for item in error.errors()):
        return Problem(type="invalid-json", title="The body is not JSON", status=400, errors=errors)
    detail = "; ".join(f"{item.field}: {item.message}" for item in errors)
    return Problem(type="invalid-input", title="Invalid input", status=422, detail=detail, errors=errors)


def _field_error(item: dict[str, object]) -> FieldError:
    location = item["loc"] if isinstance(item["loc"], tuple) else ()
    # The first part is where the field stands: body, query, path or header.
    path = ".".join(str(part) for part in location[1:])
    return FieldError(field=path or "body", message=str(item["msg"]))
