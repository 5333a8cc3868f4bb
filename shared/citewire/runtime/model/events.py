"""Server-sent events out of a stream of bytes, in bounded memory."""

from collections.abc import Iterator
from typing import Final

LONGEST_EVENT: Final = 1_000_000
"""Bytes that a line, and the data of an event, may have: the last event of a response repeats all of its text."""

_OTHER_FIELDS: Final = frozenset({b"event", b"id", b"retry"})
_STARTS: Final = (b":", b"\r", b"data", *_OTHER_FIELDS)


class NotAnEventStreamError(Exception):
    """The bytes are no server-sent events, or an event is longer than any that we want."""


class EventReader:
    """Gives the data of each event; names, ids and comments are passed over.

    Stricter than the standard, which passes over lines that it does not know: a page of HTML or a JSON body would be
    an empty stream. Lines end with LF or CRLF.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._line_size = 0
        self._data: list[bytes] = []
        self._data_size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of each event that ends in this chunk. Raises NotAnEventStreamError."""
        first, *others = chunk.split(b"\n")
        self._hold(first)
        for other in others:
            line = b"".join(self._line).removesuffix(b"\r")
            self._line.clear()
            self._line_size = 0
            if line:
                self._take(line)
            elif self._data:
                yield b"\n".join(self._data)
                self._data.clear()
                self._data_size = 0
            self._hold(other)

    def end(self) -> None:
        """Take note that no more bytes come. Raises NotAnEventStreamError if they end in what no line begins with."""
        line = b"".join(self._line)
        if line and not any(line.startswith(start) or start.startswith(line) for start in _STARTS):
            raise NotAnEventStreamError

    def _hold(self, part: bytes) -> None:
        self._line_size += len(part)
        if self._line_size + self._data_size > LONGEST_EVENT:
            raise NotAnEventStreamError
        if part:
            self._line.append(part)

    def _take(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            self._data_size += len(line)
        elif not line.startswith(b":") and line.partition(b":")[0] not in _OTHER_FIELDS:
            raise NotAnEventStreamError
