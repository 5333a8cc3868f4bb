"""What a scripted model does with a request, told apart from how either interface puts it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

# What is said before something goes wrong, unless a test has words of its own.
WORDS = tuple(f"word {number} " for number in range(1, 11))


class Voice(StrEnum):
    """What a piece belongs to: the answer, or what stands beside it."""

    TEXT = "text"
    REFUSAL = "refusal"
    REASONING = "reasoning"
    SUMMARY = "summary"


@dataclass(frozen=True)
class Piece:
    """One piece of output, as one event carries it."""

    text: str
    voice: Voice = Voice.TEXT


@dataclass(frozen=True)
class Finish:
    """An end as it should be, or for one of the two reasons for which a model stops early."""

    reason: Literal["stop", "length", "content_filter"] = "stop"


@dataclass(frozen=True)
class Failed:
    """`response.failed`; Chat Completions know only the error object."""

    code: str


@dataclass(frozen=True)
class Fault:
    """An error object inside a stream that began with status 200."""

    code: str
    message: str
    is_nested: bool = False


@dataclass(frozen=True)
class Cut:
    """No end: the connection breaks; or the body ends as if all were said."""

    is_clean: bool = False


@dataclass(frozen=True)
class Silence:
    """No end, and nothing more until the client goes; without `sends_head` not even a status."""

    sends_head: bool = True


@dataclass(frozen=True)
class Garbage:
    """Something that is no JSON where an event should be, and then the end."""

    data: bytes


Ending = Finish | Failed | Fault | Cut | Silence | Garbage


@dataclass(frozen=True)
class Answer:
    """Pieces and how they end.

    The first piece leaves `delay` seconds after the request, each other `pace` seconds after the one before; or all
    in one chunk with the first. `usage` is input, output and reasoning tokens; None: the server tells none.
    """

    said: tuple[Piece, ...]
    ending: Ending = Finish()
    pace: float = 0.0
    delay: float = 0.0
    usage: tuple[int, int, int] | None = (2_000, 7, 0)
    at_once: bool = False


@dataclass(frozen=True)
class Status:
    """A refusal before anything is said. `body` None: an error object which repeats the key, as real servers do."""

    code: int
    retry_after: float | None = None
    body: dict[str, Any] | bytes | None = None


Reply = Answer | Status


def pieces(
    *said: str,
    pace: float = 0.0,
    delay: float = 0.0,
    usage: tuple[int, int] | tuple[int, int, int] | None = (2_000, 7),
    finish: Literal["stop", "length", "content_filter"] = "stop",
    at_once: bool = False,
) -> Answer:
    """A text in these pieces; `usage` is input and output tokens, and reasoning tokens if there are any.

    `at_once`: all events in one chunk, as from behind a proxy that holds them back.
    """
    counts = (*usage, 0) if usage is not None and len(usage) == 2 else usage
    return Answer(_spoken(said), Finish(finish), pace, delay, counts, at_once)


def refusal(*said: str) -> Answer:
    """A refusal in the interfaces' own field for it."""
    return Answer(_spoken(said, Voice.REFUSAL))


def status(code: int, *, retry_after: float | None = None, body: dict[str, Any] | bytes | None = None) -> Status:
    """Another status than 200; `retry_after` in seconds."""
    return Status(code, retry_after, body)


def error_in_stream(
    *, after: int, code: str = "server_error", of: Sequence[str] = WORDS, is_nested: bool = False
) -> Answer:
    """An error object after so many pieces; `is_nested`: under `error` in Responses, too, as some servers send it."""
    return Answer(_spoken(of[:after]), Fault(code, "something went wrong", is_nested))


def cut(*, after: int, of: Sequence[str] = WORDS, is_clean: bool = False) -> Answer:
    """A stream without its last events; `is_clean`: a body that is whole as far as HTTP can tell."""
    return Answer(_spoken(of[:after]), Cut(is_clean))


def failed(*, after: int, code: str = "server_error", of: Sequence[str] = WORDS) -> Answer:
    """`response.failed` after so many pieces."""
    return Answer(_spoken(of[:after]), Failed(code))


def incomplete(
    *,
    after: int,
    reason: Literal["max_output_tokens", "content_filter"] = "max_output_tokens",
    of: Sequence[str] = WORDS,
) -> Answer:
    """`response.incomplete`, or the finish reason that says the same in Chat Completions."""
    return Answer(_spoken(of[:after]), Finish("length" if reason == "max_output_tokens" else "content_filter"))


def silent(*, after: int = 0, of: Sequence[str] = WORDS, sends_head: bool = True) -> Answer:
    """So many pieces, and then nothing for as long as the client stays."""
    return Answer(_spoken(of[:after]), Silence(sends_head))


def reasoning(*thoughts: str, then: Answer, is_summary: bool = False) -> Answer:
    """Reasoning in the interfaces' own fields for it, and then what `then` does."""
    voice = Voice.SUMMARY if is_summary else Voice.REASONING
    return replace(then, said=(*_spoken(thoughts, voice), *then.said))


def garbage(*, after: int, of: Sequence[str] = WORDS, data: bytes = b"<html>Bad gateway") -> Answer:
    """No JSON after so many pieces."""
    return Answer(_spoken(of[:after]), Garbage(data))


def _spoken(texts: Sequence[str], voice: Voice = Voice.TEXT) -> tuple[Piece, ...]:
    return tuple(Piece(text, voice) for text in texts)
