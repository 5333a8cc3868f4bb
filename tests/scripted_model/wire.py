"""What the encoders of both interfaces share: JSON as bytes, server-sent events, error objects."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from scripted_model.replies import Answer, Ending, Piece


class Encoder(Protocol):
    """Puts one answer as one interface has it; used for one request."""

    def opening(self) -> bytes:
        """What comes before the first piece."""

    def piece(self, piece: Piece) -> bytes:
        """The events of one piece, with those that a change of voice needs."""

    def ending(self, ending: Ending, usage: tuple[int, int, int] | None) -> bytes:
        """The last events."""

    def whole(self, answer: Answer) -> dict[str, Any]:
        """All of it as the one object of a request that asks for no stream."""


def as_json(value: object) -> bytes:
    """As servers write it: characters as they are, but for lone surrogates, which UTF-8 doesn't have."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def server_event(data: bytes, name: str = "") -> bytes:
    """One server-sent event."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"


def error_object(code: str, message: str) -> Mapping[str, Any]:
    """The inside of `{"error": …}`."""
    return {"message": message, "type": code, "param": None, "code": code}
