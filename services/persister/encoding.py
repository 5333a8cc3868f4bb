"""What goes into columns and cursors: JSON that Postgres takes, and where a page ended (pure)."""

import base64
from datetime import UTC
from typing import Annotated, TypeVar
from uuid import UUID

import orjson
from pydantic import AwareDatetime, Field, TypeAdapter

from citewire.contracts.model import Message
from citewire.runtime.errors import Refusal, invalid
from citewire.text.normalise import clean_json

T = TypeVar("T")

# A session in a list: its last change and its id. An interaction in a session: its number, which Postgres keeps in
# eight bytes.
SessionCursor = tuple[AwareDatetime, UUID]
InteractionCursor = Annotated[int, Field(ge=0, lt=2**63)]

_SESSION_CURSOR: TypeAdapter[SessionCursor] = TypeAdapter(SessionCursor)
_INTERACTION_CURSOR: TypeAdapter[int] = TypeAdapter(InteractionCursor)


def to_json(message: Message) -> str:
    """A message as a JSON column takes it."""
    return _clean(message.model_dump_json())


def list_to_json(messages: tuple[Message, ...]) -> str:
    """The same for a list of messages."""
    return _clean(f"[{','.join(message.model_dump_json() for message in messages)}]")


def session_cursor(cursor: SessionCursor) -> str:
    """Where a list of sessions goes on, as its reader keeps it."""
    return _encode(_SESSION_CURSOR.dump_json(cursor))


def read_session_cursor(cursor: str) -> SessionCursor:
    """What `session_cursor` encoded; raises Refusal 422."""
    at, session_id = _decode(_SESSION_CURSOR, cursor)
    try:
        return at.astimezone(UTC), session_id
    except OverflowError as error:
        raise _unknown_cursor() from error


def interaction_cursor(sequence: int) -> str:
    """Where a list of interactions goes on, as its reader keeps it."""
    return _encode(_INTERACTION_CURSOR.dump_json(sequence))


def read_interaction_cursor(cursor: str) -> int:
    """What `interaction_cursor` encoded; raises Refusal 422."""
    return _decode(_INTERACTION_CURSOR, cursor)


def escape_like(text: str) -> str:
    """Text that a LIKE pattern takes literally."""
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def _clean(json: str) -> str:
    # The net under what services clean themselves: Postgres takes no NUL, and one would fail the whole outcome.
    return orjson.dumps(clean_json(orjson.loads(json))).decode() if "\\u0000" in json else json


def _encode(json: bytes) -> str:
    return base64.urlsafe_b64encode(json).decode()


def _decode(adapter: TypeAdapter[T], cursor: str) -> T:
    try:
        return adapter.validate_json(base64.urlsafe_b64decode(cursor))
    except ValueError as error:
        raise _unknown_cursor() from error


def _unknown_cursor() -> Refusal:
    return invalid("cursor", "is not one that this service gave")
