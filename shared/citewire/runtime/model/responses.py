"""The Responses interface: what is sent, and how its events are read."""

from typing import Any

from citewire.runtime.model.failures import Failure
from citewire.runtime.model.profiles import Traits
from citewire.runtime.model.reading import CONTENT_FILTER, LENGTH, REFUSAL, NotTheProtocolError, Told
from citewire.runtime.model.requests import ModelRequest
from citewire.runtime.model.usage import read_usage
from citewire.runtime.model.wording import instructions_of


def responses_body(request: ModelRequest, traits: Traits) -> dict[str, Any]:
    """The body of a request to `/responses`."""
    body: dict[str, Any] = {
        "model": request.model,
        "instructions": instructions_of(request, traits),
        "input": [{"role": turn.role, "content": turn.text} for turn in request.messages],
        "stream": True,
        "max_output_tokens": request.max_output_tokens,
    }
    if traits.sends_store:
        # The protocol's default is to keep what was said.
        body["store"] = False
    if request.temperature is not None:
        body["temperature"] = min(request.temperature, traits.highest_temperature)
    if request.shape is not None:
        schema = {"type": "json_schema", "name": request.shape.name, "schema": request.shape.schema, "strict": True}
        body["text"] = {"format": schema if traits.takes_schema else {"type": "json_object"}}
    return body


class ResponsesReader:
    """Reads the events of one response."""

    def __init__(self) -> None:
        self.told = Told()
        self._has_text = False

    def read(self, event: dict[str, Any]) -> str:
        """The text that an event adds."""
        kind = event.get("type")
        if kind == "response.output_text.delta":
            return self._text(event.get("delta"))
        if not isinstance(kind, str):
            # Some servers send the error object bare, as Chat Completions have it.
            if not event.get("error"):
                raise NotTheProtocolError
            kind = "error"
        return self._other(kind, event)

    def _text(self, delta: Any) -> str:
        if not isinstance(delta, str):
            raise NotTheProtocolError
        self.told.tokens += 1
        self._has_text = True
        return delta

    def _other(self, kind: str, event: dict[str, Any]) -> str:
        match kind:
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._end(event.get("response"), kind.removeprefix("response."))
            case "error":
                self.told.report(event.get("error") or event)
            case "response.refusal.delta" | "response.refusal.done":
                self.told.tokens += 1
                self.told.fail(*REFUSAL)
            case _ if kind.startswith("response.reasoning") and kind.endswith(".delta"):
                self.told.tokens += 1
        return ""

    def _end(self, response: Any, kind: str) -> str:
        """The last event; it has the whole text, for servers that sent no deltas."""
        if not isinstance(response, dict):
            raise NotTheProtocolError
        told = self.told
        told.usage = read_usage(response.get("usage"))
        items = _items(response)
        parts = [part for part in _parts(items) if isinstance(part, dict)]
        if any(part.get("type") == "refusal" for part in parts):
            told.fail(*REFUSAL)
        self._fail(response, kind)
        self._check_items(items)
        told.has_ended = told.is_over = True
        if self._has_text:
            return ""
        texts = (part.get("text") for part in parts if part.get("type") == "output_text")
        return "".join(text for text in texts if isinstance(text, str))

    def _check_items(self, items: list[dict[str, Any]]) -> None:
        """One message was asked for, and no tool: what else there is, nobody has read."""
        kinds = [item.get("type") for item in items]
        if any(kind not in {"message", "reasoning"} for kind in kinds):
            self.told.fail(Failure.INVALID, "sent output of a kind that was not asked for")
        elif kinds.count("message") > 1:
            self.told.fail(Failure.INVALID, "sent several messages")

    def _fail(self, response: dict[str, Any], kind: str) -> None:
        """What the end says of how it came about; some servers send `response.completed` whatever the status is."""
        state = response.get("status") if kind == "completed" else kind
        if state == "failed":
            self.told.report(response.get("error"), "reported that it failed")
        elif state == "incomplete":
            details = response.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, dict) else None
            endings = {"max_output_tokens": LENGTH, "content_filter": CONTENT_FILTER}
            self.told.fail(*endings.get(str(reason), (Failure.REPORTED, "reported an answer that is not whole")))


def _items(response: dict[str, Any]) -> list[dict[str, Any]]:
    """A response's output."""
    output = response.get("output")
    return [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []


def _parts(items: list[dict[str, Any]]) -> list[Any]:
    """The parts of all messages."""
    contents = [item.get("content") for item in items if item.get("type") == "message"]
    return [part for content in contents if isinstance(content, list) for part in content]
