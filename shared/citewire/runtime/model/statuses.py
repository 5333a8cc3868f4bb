"""What a status other than 200 means, without repeating a word of what the server says about it."""

import email.utils
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

import orjson

from citewire.runtime.model.failures import Failure, ModelFailed
from citewire.runtime.model.reading import is_too_long

WITH_A_REASON: Final = frozenset({400, 422, 429})
"""Statuses whose meaning stands in the body."""

_FAILURES: Final = {
    401: Failure.UNAUTHORISED,
    403: Failure.FORBIDDEN,
    404: Failure.NO_MODEL,
    408: Failure.TIMEOUT,
    413: Failure.TOO_LONG,
    429: Failure.RATE_LIMITED,
}
_PASSING: Final = frozenset({408, 409, 429})


def status_failed(provider: str, status: int, headers: Mapping[str, str], body: bytes) -> ModelFailed:
    """The failure that an answer with such a status is; `body`: its beginning, where that was worth reading."""
    error = _error_object(body)
    if is_too_long(error):
        return ModelFailed(provider, Failure.TOO_LONG, f"answered {status} (too long for the model's context)")
    if error.get("code") == "insufficient_quota":
        return ModelFailed(provider, Failure.RATE_LIMITED, f"answered {status} (the quota is used up)")
    return ModelFailed(
        provider,
        _failure(status),
        f"answered {status}{_meaning(status)}",
        retry_after=_retry_after(headers.get("retry-after", "")),
        may_pass=status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR,
    )


def _failure(status: int) -> Failure:
    is_server = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return _FAILURES.get(status, Failure.SERVER if is_server else Failure.REFUSED_REQUEST)


def _meaning(status: int) -> str:
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return " (a redirect; none is followed, since the key would go with it)"
    known = HTTPStatus.__members__.values()
    return next((f" ({entry.phrase.lower()})" for entry in known if entry == status), "")


def _retry_after(value: str) -> float | None:
    """Seconds, from a number of them or from a date."""
    if value.isascii() and value.isdecimal():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    # A date without a zone is in UTC.
    until = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _error_object(body: bytes) -> dict[str, Any]:
    """The error in a body: under `error`, or the body itself."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    error = told.get("error", told) if isinstance(told, dict) else {}
    return error if isinstance(error, dict) else {"message": error}
