"""Errors as RFC 9457 problem documents: the same shape over HTTP, on the bus and in a stream's `error` frame."""

from citewire.contracts.model import Message


class FieldError(Message):
    """One wrong input field; `field` is its path with dots, as the sender wrote it (`params.top_k`)."""

    field: str
    message: str


class Problem(Message):
    """RFC 9457 fields; `type` is a stable word that programs can branch on, `retry_after` is in seconds."""

    type: str
    title: str
    status: int
    detail: str = ""
    errors: tuple[FieldError, ...] = ()
    retry_after: int | None = None
