"""What is asked of a model, and what is known of a call once it has ended."""

from dataclasses import dataclass, field
from typing import Any, Literal

from citewire.contracts.provenance import Usage


@dataclass(frozen=True)
class ModelMessage:
    """One turn of the conversation that the model continues."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class JsonShape:
    """The form of an answer that is JSON: a strict JSON Schema and a name for it (letters, digits, `_`, `-`)."""

    name: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class ModelRequest:
    """One question to a model: its fixed rules, the turns, and limits.

    `max_output_tokens` is in the provider's own tokens and counts reasoning. A `temperature` of None is not sent.
    With a `shape` the answer is one JSON object; whether it fits the schema is for the caller to check.
    """

    model: str
    instructions: str
    messages: tuple[ModelMessage, ...]
    max_output_tokens: int
    temperature: float | None = None
    shape: JsonShape | None = None


@dataclass
class CallReport:
    """What a call cost, over all its tries, and what was odd about it; filled while the answer streams and after.

    `usage` is None until a try that spent something, or may have, has ended.
    """

    usage: Usage | None = None
    problems: list[str] = field(default_factory=list)
