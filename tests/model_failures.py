"""Each way in which a model can fail an answer: before a word was said, and after some were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from citewire.contracts.providers import AnswerForm
from scripted_model import (
    Answer,
    Piece,
    Reply,
    Voice,
    cut,
    error_in_stream,
    failed,
    garbage,
    incomplete,
    pieces,
    reasoning,
    refusal,
    silent,
    status,
)

Said = Sequence[str]
# Seconds that a model gets in tests of its silence.
SHORT = 0.3
BOTH = (AnswerForm.INLINE, AnswerForm.STRUCTURED)

_TOO_LONG = {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}
_NO_MODEL = {"error": {"message": "own words", "type": "invalid_request_error", "code": "model_not_found"}}


@dataclass(frozen=True)
class Failure:
    """One of them: what the model does, given the pieces of a right answer, and what `degraded` must say of it."""

    name: str
    reply: Callable[[Said], Reply]
    cause: str
    settings: dict[str, Any] = field(default_factory=dict)
    forms: Sequence[AnswerForm] = BOTH


def _always(reply: Reply) -> Callable[[Said], Reply]:
    return lambda _: reply


def _broken(said: Said, *, after: int) -> Answer:
    return pieces(*said[:after], '", no JSON')


def _refused_late(said: Said) -> Answer:
    return replace(pieces(), said=(*map(Piece, said[:2]), Piece("I can't say.", Voice.REFUSAL)))


_FIRST = {"first_token_timeout": SHORT}
_IDLE = {"idle_timeout": SHORT}

BEFORE = (
    Failure("400 context overflow", _always(status(400, body=_TOO_LONG)), "long|context"),
    Failure("400", _always(status(400)), "400"),
    Failure("401", _always(status(401)), "401"),
    Failure("403", _always(status(403)), "403"),
    Failure("404 model", _always(status(404, body=_NO_MODEL)), "404|model"),
    Failure("408", _always(status(408)), "408"),
    Failure("429", _always(status(429, retry_after=1)), "429"),
    Failure("500", _always(status(500)), "500"),
    Failure("503", _always(status(503)), "503"),
    Failure("502 with a page", _always(status(502, body=b"<html>own words")), "502"),
    Failure("no first token", _always(silent()), "first token", _FIRST),
    Failure("no status", _always(silent(sends_head=False)), "first token", _FIRST),
    Failure("reasoning without end", _always(reasoning("Hm", then=silent())), "silent", _IDLE),
    Failure("error object", _always(error_in_stream(after=0)), "error|reported"),
    Failure("nested error object", _always(error_in_stream(after=0, is_nested=True)), "error|reported"),
    Failure("cut", _always(cut(after=0)), "connection|end|broke"),
    Failure("clean cut", _always(cut(after=0, is_clean=True)), "end|broke"),
    Failure("response failed", _always(failed(after=0, code="rate_limit_exceeded")), "fail|error|reported|429|many"),
    Failure("response incomplete", _always(incomplete(after=0)), "limit|length|long"),
    Failure("content filter", _always(incomplete(after=0, reason="content_filter")), "filter"),
    Failure("refusal", _always(refusal("I can't ", "say.")), "refus|declin"),
    Failure("no JSON events", _always(garbage(after=0)), "something else"),
    Failure("f10 empty", _always(pieces()), "empty|no answer|no text|nothing"),
    Failure("f10 an empty piece", _always(pieces("")), "empty|no answer|no text|nothing|JSON"),
    Failure("f10 blanks", _always(pieces(" ", "\n", "\u3000")), "empty|no answer|no text|nothing|JSON"),
    Failure("unclosed reasoning tag", _always(pieces("<think>", "Hm", " m")), "empty|no answer|no text|nothing|JSON"),
    Failure("reasoning alone", _always(reasoning("Hm", "m", then=pieces())), "empty|no answer|no text|nothing"),
    Failure("no JSON answer", _always(pieces("I ", "think")), "JSON", forms=(AnswerForm.STRUCTURED,)),
    Failure(
        "JSON without a text",
        _always(pieces('{"response": "', '", "citations": []}')),
        "empty|no answer|no text|nothing",
        forms=(AnswerForm.STRUCTURED,),
    ),
)
"""Nothing of the model's was seen: sentences of the evidence answer in its place."""

AFTER = (
    Failure("idle", lambda said: silent(after=2, of=said), "silent", _IDLE),
    Failure("error object", lambda said: error_in_stream(after=2, of=said), "error|reported"),
    Failure("nested error object", lambda said: error_in_stream(after=2, of=said, is_nested=True), "error|reported"),
    Failure("f04 cut", lambda said: cut(after=2, of=said), "connection|end|broke"),
    Failure("f04 clean cut", lambda said: cut(after=2, of=said, is_clean=True), "end|broke"),
    Failure(
        "f01 response failed",
        lambda said: failed(after=2, of=said, code="rate_limit_exceeded"),
        "fail|error|reported|429|many",
    ),
    Failure("response incomplete", lambda said: incomplete(after=2, of=said), "limit|length|long"),
    Failure("content filter", lambda said: incomplete(after=2, of=said, reason="content_filter"), "filter"),
    Failure("refusal", _refused_late, "refus|declin"),
    Failure("no JSON events", lambda said: garbage(after=2, of=said), "something else"),
    Failure("invalid JSON", lambda said: _broken(said, after=2), "JSON", forms=(AnswerForm.STRUCTURED,)),
    Failure("no end of the JSON", lambda said: pieces(*said[:2]), "JSON", forms=(AnswerForm.STRUCTURED,)),
    Failure(
        "repetition up to the limit",
        lambda said: pieces(*said[:2], *["must be "] * 300, finish="length"),
        "limit|length|long",
    ),
)
"""Some of the text was seen: it stays, and the answer ends there."""
