"""What can go wrong in a stage, by what may be done about it.

ServiceError
├── TransientError      a later delivery can succeed: redelivered after `retry_after` seconds
├── PermanentError      no delivery can succeed: set aside with its reason
└── Refusal             the sender must know: carries a problem document
    anything else       a bug: redelivered, logged with its traceback, then set aside
"""

from citewire.contracts.problems import FieldError, Problem


class ServiceError(Exception):
    """Base of the errors that say what may be done about them."""


class TransientError(ServiceError):
    """Something outside is away; the same message can succeed in `retry_after` seconds."""

    def __init__(self, reason: str, retry_after: float = 1.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class PermanentError(ServiceError):
    """The message itself can never succeed."""


class Refusal(ServiceError):  # noqa: N818 - not an error of ours: an answer to the sender
    """The sender asked for what it can't have; becomes a problem document wherever it surfaces."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem


def unauthorised(detail: str) -> Refusal:
    """401: no identity, or one that is not valid."""
    return Refusal(Problem(type="unauthorised", title="Sign in first", status=401, detail=detail))


def forbidden(detail: str) -> Refusal:
    """403: the caller may see it and not do it."""
    return Refusal(Problem(type="forbidden", title="Not allowed", status=403, detail=detail))


def not_found(what: str) -> Refusal:
    """404: there is none, or none that the caller may see."""
    return Refusal(Problem(type="not-found", title="Not found", status=404, detail=f"There is no such {what}."))


def conflict(detail: str) -> Refusal:
    """409: contradicts what is there already."""
    return Refusal(Problem(type="conflict", title="Conflict", status=409, detail=detail))


def invalid(field: str, message: str) -> Refusal:
    """422: one field is wrong."""
    return Refusal(
        Problem(
            type="invalid-input",
            title="Invalid input",
            status=422,
            detail=f"{field}: {message}",
            errors=(FieldError(field=field, message=message),),
        )
    )


def too_large(detail: str) -> Refusal:
    """413: more than can be sent at once."""
    return Refusal(Problem(type="too-large", title="Too large", status=413, detail=detail))


def too_many(kind: str, detail: str, retry_after: int) -> Refusal:
    """429: more than one user may have; the same request may succeed after `retry_after` seconds."""
    return Refusal(Problem(type=kind, title="Too many questions", status=429, detail=detail, retry_after=retry_after))


def overloaded(detail: str, retry_after: int = 2) -> Refusal:
    """503: nothing was accepted; the same request may succeed after `retry_after` seconds."""
    return Refusal(
        Problem(type="overloaded", title="Try again later", status=503, detail=detail, retry_after=retry_after)
    )
