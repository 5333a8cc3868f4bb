"""Chat Completions: what is sent, and how the chunks are read."""

from typing import Any, Final

from citewire.runtime.model.failures import Failure
from citewire.runtime.model.profiles import Traits
from citewire.runtime.model.reading import CONTENT_FILTER, LENGTH, REFUSAL, NotTheProtocolError, Told
from citewire.runtime.model.requests import ModelRequest
from citewire.runtime.model.usage import read_usage
from citewire.runtime.model.wording import instructions_of

_FAILED_ENDS: Final = {
    "length": LENGTH,
    "content_filter": CONTENT_FILTER,
    # DeepSeek's word for a server that has too much to do.
    "insufficient_system_resource": (Failure.SERVER, "stopped for lack of resources"),
}
_REASONING: Final = ("reasoning_content", "reasoning")


def chat_body(request: ModelRequest, traits: Traits) -> dict[str, Any]:
    """The body of a request to `/chat/completions`."""
    instructions = {"role": traits.instructions_role, "content": instructions_of(request, traits)}
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [instructions, *({"role": turn.role, "content": turn.text} for turn in request.messages)],
        "stream": True,
        "stream_options": {"include_usage": True},
        traits.limit_field: request.max_output_tokens,
    }
    if request.temperature is not None:
        body["temperature"] = min(request.temperature, traits.highest_temperature)
    if request.shape is not None:
        named = {"name": request.shape.name, "schema": request.shape.schema, "strict": True}
        schema = {"type": "json_schema", "json_schema": named}
        body["response_format"] = schema if traits.takes_schema else {"type": "json_object"}
    return body


class ChatReader:
    """Reads the chunks of one answer."""

    def __init__(self) -> None:
        self.told = Told()

    def read(self, event: dict[str, Any]) -> str:
        """The text that a chunk adds."""
        choices = event.get("choices")
        if choices:
            self._take_usage(event)
            return self._choice(choices)
        if error := event.get("error"):
            self.told.report(error)
        elif not isinstance(choices, list) and "usage" not in event:
            raise NotTheProtocolError
        self._take_usage(event)
        return ""

    def _take_usage(self, event: dict[str, Any]) -> None:
        """Usage stands in the last chunk, with some servers in each, summed."""
        if told := event.get("usage"):
            self.told.usage = read_usage(told) or self.told.usage

    def _choice(self, choices: Any) -> str:
        choice = choices[0] if isinstance(choices, list) else None
        if not isinstance(choice, dict):
            raise NotTheProtocolError
        if reason := choice.get("finish_reason"):
            self._end(reason)
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return ""
        text = delta.get("content")
        if isinstance(text, str) and text:
            self.told.tokens += 1
            return text
        self._pass(delta)
        return ""

    def _end(self, reason: Any) -> None:
        self.told.has_ended = True
        if isinstance(reason, str) and reason in _FAILED_ENDS:
            self.told.fail(*_FAILED_ENDS[reason])

    def _pass(self, delta: dict[str, Any]) -> None:
        """A delta without text: a refusal or reasoning, or nothing."""
        if delta.get("refusal"):
            self.told.tokens += 1
            self.told.fail(*REFUSAL)
        elif any(map(delta.get, _REASONING)):
            self.told.tokens += 1
