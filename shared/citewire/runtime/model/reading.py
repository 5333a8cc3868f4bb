"""What has been learnt from a stream so far, whichever protocol it speaks."""

from dataclasses import dataclass
from typing import Any, Final, Protocol

from citewire.contracts.provenance import Usage
from citewire.runtime.model.failures import Failure

# As OpenAI, llama.cpp, vLLM, DeepSeek and Bailian put it, in codes and in words.
_TOO_LONG: Final = (
    "context_length",
    "context length",
    "context_size",
    "context size",
    "context window",
    "prompt is too long",
    "range of input length",
)
_LONGEST_WORDS: Final = 10_000
# Codes of errors inside a stream that are worth passing on, in our words.
_CODES: Final = {
    "rate_limit_exceeded": "429 (too many requests)",
    "429": "429 (too many requests)",
    "insufficient_quota": "429 (the quota is used up)",
    "server_error": "500 (internal server error)",
    "500": "500 (internal server error)",
    "503": "503 (service unavailable)",
}


@dataclass
class Told:
    """The state of an answer.

    `tokens`: how many events carried some of the output, reasoning and refusals too. `has_ended`: the model has said
    that it has no more. `is_over`: nothing more will come, not even usage. `failure` with `cause`: what the provider
    told of, to be raised when all is said.
    """

    tokens: int = 0
    has_ended: bool = False
    is_over: bool = False
    failure: Failure | None = None
    cause: str = ""
    usage: Usage | None = None

    def fail(self, failure: Failure, cause: str) -> None:
        """Take note of a failure; the first one counts."""
        if self.failure is None:
            self.failure, self.cause = failure, cause

    def report(self, error: Any, cause: str = "reported an error") -> None:
        """An error object of the provider's: the stream is over."""
        if is_too_long(error):
            self.fail(Failure.TOO_LONG, "found the request too long for the model's context")
        code = str(error.get("code") or error.get("type")) if isinstance(error, dict) else ""
        meaning = _CODES.get(code)
        self.fail(Failure.REPORTED, f"{cause}: {meaning}" if meaning else cause)
        self.has_ended = self.is_over = True


class AnswerReader(Protocol):
    """Understands the events of one answer, one protocol each."""

    told: Told

    def read(self, event: dict[str, Any]) -> str:
        """The text that an event adds; mostly, or nothing. Raises NotTheProtocolError."""


class NotTheProtocolError(Exception):
    """JSON, but not of the kind that was asked for."""


def is_too_long(error: Any) -> bool:
    """Whether an error object says that the request has more tokens than the model takes."""
    if not isinstance(error, dict):
        return False
    said = " ".join(str(error.get(name))[:_LONGEST_WORDS] for name in ("code", "type", "message")).lower()
    return any(words in said for words in _TOO_LONG)


LENGTH: Final = (Failure.LENGTH, "stopped at the limit of output tokens")
CONTENT_FILTER: Final = (Failure.CONTENT_FILTER, "stopped the answer by its content filter")
REFUSAL: Final = (Failure.REFUSAL, "refused to answer")
