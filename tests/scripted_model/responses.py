"""The Responses interface: its events in the order in which OpenAI sends them, each with its number."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from scripted_model.replies import Answer, Cut, Ending, Failed, Fault, Finish, Garbage, Piece, Silence, Voice
from scripted_model.wire import as_json, error_object, server_event

_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(frozen=True)
class _Shape:
    """How a voice is put: the kind of its item and part, where the part stands, and the names of its events."""

    item: str
    part: str
    place: str
    index: str
    part_events: str
    text_events: str
    key: str = "text"
    part_extra: Mapping[str, Any] = field(default_factory=dict)
    event_extra: Mapping[str, Any] = field(default_factory=dict)


_CONTENT = ("content", "content_index", "response.content_part")
_SHAPES = {
    Voice.TEXT: _Shape(
        "message",
        "output_text",
        *_CONTENT,
        "response.output_text",
        part_extra={"annotations": [], "logprobs": []},
        event_extra={"logprobs": []},
    ),
    Voice.REFUSAL: _Shape("message", "refusal", *_CONTENT, "response.refusal", key="refusal"),
    Voice.REASONING: _Shape("reasoning", "reasoning_text", *_CONTENT, "response.reasoning_text"),
    Voice.SUMMARY: _Shape(
        "reasoning",
        "summary_text",
        "summary",
        "summary_index",
        "response.reasoning_summary_part",
        "response.reasoning_summary_text",
    ),
}


@dataclass
class _Item:
    """An item of the output that is being written; each has one part."""

    shape: _Shape
    item_id: str
    texts: list[str] = field(default_factory=list)

    def as_object(self, state: str) -> dict[str, Any]:
        """The item with its part; `in_progress`: still without one."""
        places: dict[str, Any] = {"summary": []} if self.shape.item == "reasoning" else {"role": "assistant"}
        parts = [] if state == "in_progress" else [self.part()]
        return {"id": self.item_id, "type": self.shape.item, "status": state, **places, self.shape.place: parts}

    def part(self, *, is_empty: bool = False) -> dict[str, Any]:
        """The part with the text so far, or as it begins."""
        text = "" if is_empty else "".join(self.texts)
        return {"type": self.shape.part, self.shape.key: text, **self.shape.part_extra}


class ResponsesEncoder:
    """Events of one response."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        self._id = f"resp_{uuid4().hex}"
        self._created_at = int(time.time())
        self._events = 0
        self._output: list[dict[str, Any]] = []
        self._item: _Item | None = None

    def opening(self) -> bytes:
        """`response.created` and `response.in_progress`."""
        response = self._response("in_progress")
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def piece(self, piece: Piece) -> bytes:
        """A delta, after the events that begin its item and part if its voice is new."""
        shape, begun = _SHAPES[piece.voice], b""
        item = self._item
        if item is None or item.shape is not shape:
            begun = self._end_item("completed")
            item = self._item = _Item(shape, f"{shape.item[:3]}_{uuid4().hex}")
            begun += self._begin(item)
        item.texts.append(piece.text)
        return begun + self._of_part(item, f"{shape.text_events}.delta", delta=piece.text, **shape.event_extra)

    def ending(self, ending: Ending, usage: tuple[int, int, int] | None) -> bytes:
        """The events that end a response, whole or not."""
        match ending:
            case Finish("stop"):
                return self._end_item("completed") + self._last("completed", usage)
            case Finish(reason):
                details = {"incomplete_details": {"reason": _REASONS[reason]}}
                return self._end_item("incomplete") + self._last("incomplete", usage, **details)
            case Failed(code):
                return self._last("failed", usage, error={"code": code, "message": "the model failed"})
            case Fault(code, message, is_nested):
                error = {"code": code, "message": message, "param": None}
                return self._event("error", **({"error": dict(error_object(code, message))} if is_nested else error))
            case Garbage(data):
                return server_event(data)
            case Cut() | Silence():
                return b""

    def whole(self, answer: Answer) -> dict[str, Any]:
        """The response object."""
        for piece in answer.said:
            self.piece(piece)
        match answer.ending:
            case Failed(code) | Fault(code):
                error = {"code": code, "message": "the model failed"}
                return self._response("failed", answer.usage, error=error)
            case Finish("length" | "content_filter" as reason):
                self._end_item("incomplete")
                return self._response("incomplete", answer.usage, incomplete_details={"reason": _REASONS[reason]})
            case _:
                self._end_item("completed")
                return self._response("completed", answer.usage)

    def _begin(self, item: _Item) -> bytes:
        added = self._event(
            "response.output_item.added", output_index=len(self._output), item=item.as_object("in_progress")
        )
        return added + self._of_part(item, f"{item.shape.part_events}.added", part=item.part(is_empty=True))

    def _end_item(self, state: str) -> bytes:
        item, self._item = self._item, None
        if item is None:
            return b""
        shape, finished = item.shape, item.as_object(state)
        text = {shape.key: "".join(item.texts), **shape.event_extra}
        events = self._of_part(item, f"{shape.text_events}.done", **text)
        events += self._of_part(item, f"{shape.part_events}.done", part=item.part())
        events += self._event("response.output_item.done", output_index=len(self._output), item=finished)
        self._output.append(finished)
        return events

    def _of_part(self, item: _Item, name: str, **fields: Any) -> bytes:
        place = {"item_id": item.item_id, "output_index": len(self._output), item.shape.index: 0}
        return self._event(name, **place, **fields)

    def _last(self, state: str, usage: tuple[int, int, int] | None, **fields: Any) -> bytes:
        return self._event(f"response.{state}", response=self._response(state, usage, **fields))

    def _event(self, name: str, **fields: Any) -> bytes:
        number, self._events = self._events, self._events + 1
        return server_event(as_json({"type": name, "sequence_number": number, **fields}), name)

    def _response(self, state: str, usage: tuple[int, int, int] | None = None, **fields: Any) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created_at,
            "status": state,
            "error": None,
            "incomplete_details": None,
            "instructions": self._request.get("instructions"),
            "max_output_tokens": self._request.get("max_output_tokens"),
            "metadata": {},
            "model": self._request.get("model"),
            "output": list(self._output),
            "parallel_tool_calls": True,
            "store": self._request.get("store", True),
            "temperature": self._request.get("temperature"),
            "text": self._request.get("text", {"format": {"type": "text"}}),
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": None if usage is None else _usage(*usage),
        } | fields


def _usage(given: int, made: int, reasoned: int) -> dict[str, Any]:
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": reasoned},
        "total_tokens": given + made,
    }
