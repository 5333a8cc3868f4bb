"""Reads one JSON object that comes in pieces: strict, in linear time, with nothing kept but where it stands."""

import json
import re
from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeVar

import regex

# Deeper than any answer; every level costs a little for each piece.
MAX_DEPTH = 16
# Longer keys are known only by their beginning.
MAX_KEY = 64
MAX_SCALAR = 64

Path = tuple[str, ...]
ITEM = "*"
"""Stands in a path for a place in a list."""

_BLANK = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\]*')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = frozenset("0123456789abcdefABCDEF")
_HEX_DIGITS = 4
_LEAD = regex.compile(r"\ufeff?(?:`{3}[A-Za-z]{0,10})?")
_SCALAR = regex.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SCALAR_CHARACTER = re.compile(r"[-+.0-9A-Za-z]")

_T = TypeVar("_T")
_Steps = Generator[None, None, _T]


class InvalidJson(Exception):  # noqa: N818 - a fact about the model's text
    """The text is no JSON object, or not the one that was asked for."""


class Listener(Protocol):
    """Is told of an object's values as they come, each with its path of keys."""

    def text(self, path: Path, piece: str) -> None:
        """A part of a string; halves of a surrogate pair may come apart."""

    def value(self, path: Path, value: Any) -> None:
        """A number, a truth value or null."""

    def ended(self, path: Path) -> None:
        """A string is complete."""

    def closed(self, path: Path) -> None:
        """A list or an object is complete."""


class JsonText:
    """Takes the text in pieces. White space, a byte order mark and the beginning of a code fence may stand before the
    object; whatever follows it is ignored. Control characters may stand in strings as they are.
    """

    def __init__(self, listener: Listener) -> None:
        self.is_complete = False
        self._listener = listener
        self._text = ""
        self._at = 0
        self._steps = self._document()
        next(self._steps)

    def feed(self, piece: str) -> None:
        """Read on; raises InvalidJson at the first character that cannot be right."""
        self._text, self._at = piece, 0
        if not self.is_complete:
            next(self._steps, None)

    def end(self) -> None:
        """Raises InvalidJson when the object is not complete."""
        if not self.is_complete:
            raise InvalidJson("the model's JSON breaks off")

    def _document(self) -> _Steps[None]:
        lead = ""
        while (sign := (yield from self._sign())) != "{":
            lead += sign
            self._at += 1
            if not _LEAD.fullmatch(lead, partial=True):
                raise InvalidJson("the model's text is no JSON object")
        if not _LEAD.fullmatch(lead):
            raise InvalidJson("the model's text is no JSON object")
        yield from self._object(())
        self.is_complete = True

    def _sign(self) -> _Steps[str]:
        """The next character that is no white space, not yet consumed."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            yield

    def _character(self) -> _Steps[str]:
        while self._at == len(self._text):
            yield
        self._at += 1
        return self._text[self._at - 1]

    def _value(self, path: Path) -> _Steps[None]:
        if len(path) > MAX_DEPTH:
            raise InvalidJson("the model's JSON is nested too deeply")
        sign = yield from self._sign()
        if sign == "{":
            yield from self._object(path)
        elif sign == "[":
            yield from self._list(path)
        elif sign == '"':
            yield from self._string(lambda piece: self._listener.text(path, piece))
            self._listener.ended(path)
        else:
            self._listener.value(path, (yield from self._scalar()))

    def _object(self, path: Path) -> _Steps[None]:
        self._at += 1
        sign = yield from self._sign()
        while sign != "}":
            key = yield from self._key()
            if (yield from self._sign()) != ":":
                raise InvalidJson("the model's JSON lacks a colon")
            self._at += 1
            yield from self._value((*path, key))
            sign = yield from self._after_value("}")
        self._at += 1
        self._listener.closed(path)

    def _list(self, path: Path) -> _Steps[None]:
        self._at += 1
        sign = yield from self._sign()
        while sign != "]":
            yield from self._value((*path, ITEM))
            sign = yield from self._after_value("]")
        self._at += 1
        self._listener.closed(path)

    def _after_value(self, closer: str) -> _Steps[str]:
        """The closer, or the first sign of the next member after a comma."""
        sign = yield from self._sign()
        if sign == closer:
            return sign
        if sign != ",":
            raise InvalidJson("the model's JSON lacks a comma")
        self._at += 1
        sign = yield from self._sign()
        if sign == closer:
            raise InvalidJson("the model's JSON has a comma too many")
        return sign

    def _key(self) -> _Steps[str]:
        if self._text[self._at] != '"':
            raise InvalidJson("the model's JSON lacks a key")
        key = ""

        def add(piece: str) -> None:
            nonlocal key
            key = (key + piece[:MAX_KEY])[:MAX_KEY]

        yield from self._string(add)
        return key

    def _string(self, take: Callable[[str], None]) -> _Steps[None]:
        self._at += 1
        while True:
            plain = _PLAIN.match(self._text, self._at)
            if plain and plain[0]:
                take(plain[0])
                self._at = plain.end()
            sign = yield from self._character()
            if sign == '"':
                return
            if sign == "\\":
                take((yield from self._escape()))
            else:
                self._at -= 1

    def _escape(self) -> _Steps[str]:
        sign = yield from self._character()
        if sign in _ESCAPES:
            return _ESCAPES[sign]
        if sign != "u":
            raise InvalidJson("the model's JSON has an unknown escape")
        digits = ""
        while len(digits) < _HEX_DIGITS:
            digit = yield from self._character()
            if digit not in _HEX:
                raise InvalidJson("the model's JSON has an unknown escape")
            digits += digit
        return chr(int(digits, 16))

    def _scalar(self) -> _Steps[Any]:
        written = ""
        while _SCALAR_CHARACTER.match(sign := (yield from self._peek())):
            written += sign
            self._at += 1
            if len(written) > MAX_SCALAR or not _SCALAR.fullmatch(written, partial=True):
                raise InvalidJson("the model's JSON has an unknown value")
        if not _SCALAR.fullmatch(written):
            raise InvalidJson("the model's JSON has an unknown value")
        return json.loads(written)

    def _peek(self) -> _Steps[str]:
        sign = yield from self._character()
        self._at -= 1
        return sign
