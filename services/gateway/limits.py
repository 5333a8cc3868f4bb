"""How much a request may bring: counted as it comes, whatever its headers say."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewire.contracts.problems import Problem
from gateway.problems import problem_response
from gateway.settings import Settings

_TITLE = "Too large"


class BodyLimit:
    """ASGI middleware that answers 413 to a body over the limit: a larger one for uploads."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        limit = self._settings.max_upload if _is_upload(scope) else self._settings.max_body
        if _declared_length(scope) > limit:
            await _too_large(limit)(scope, receive, send)
            return
        try:
            await self._app(scope, _counted(receive, limit), send)
        except BodyTooLargeError:
            await _too_large(limit)(scope, receive, send)


class BodyTooLargeError(HTTPException):
    """The body went over the limit without having said so; FastAPI would make a 400 of any other exception."""

    def __init__(self) -> None:
        super().__init__(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TITLE)


def _counted(receive: Receive, limit: int) -> Receive:
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise BodyTooLargeError
        return message

    return counted


def _is_upload(scope: Scope) -> bool:
    return str(scope["path"]).endswith("/documents")


def _declared_length(scope: Scope) -> int:
    value = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(value) if value.isdigit() else 0


def _too_large(limit: int) -> ASGIApp:
    return problem_response(Problem(type="too-large", title=_TITLE, status=413, detail=f"At most {limit} bytes."))
