"""The Chat Completions interface: chunks, the chunk of usage if it is asked for, `[DONE]`."""

import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from scripted_model.replies import Answer, Cut, Ending, Failed, Fault, Finish, Garbage, Piece, Silence, Voice
from scripted_model.wire import as_json, error_object, server_event

# Reasoning as DeepSeek and others send it; OpenAI itself shows none here.
_FIELDS = {
    Voice.TEXT: "content",
    Voice.REFUSAL: "refusal",
    Voice.REASONING: "reasoning_content",
    Voice.SUMMARY: "reasoning_content",
}


class ChatEncoder:
    """Chunks of one completion."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._tells_usage = bool((request.get("stream_options") or {}).get("include_usage"))
        self._shared = {
            "id": f"chatcmpl-{uuid4().hex}",
            "created": int(time.time()),
            "model": request.get("model"),
            "system_fingerprint": None,
        }

    def opening(self) -> bytes:
        """The chunk that names the role."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def piece(self, piece: Piece) -> bytes:
        """A chunk with one field."""
        return self._chunk({_FIELDS[piece.voice]: piece.text})

    def ending(self, ending: Ending, usage: tuple[int, int, int] | None) -> bytes:
        """The chunks that end a completion, whole or not."""
        match ending:
            case Finish(reason):
                return self._chunk({}, reason) + self._usage_chunk(usage) + server_event(b"[DONE]")
            case Failed(code):
                return server_event(as_json({"error": error_object(code, "the model failed")}))
            case Fault(code, message):
                return server_event(as_json({"error": error_object(code, message)}))
            case Garbage(data):
                return server_event(data)
            case Cut() | Silence():
                return b""

    def whole(self, answer: Answer) -> dict[str, Any]:
        """The completion object, or the error object alone."""
        if isinstance(answer.ending, Failed | Fault):
            return {"error": error_object(answer.ending.code, "the model failed")}
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
        for piece in answer.said:
            name = _FIELDS[piece.voice]
            message[name] = (message.get(name) or "") + piece.text
        reason = answer.ending.reason if isinstance(answer.ending, Finish) else "stop"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        usage = None if answer.usage is None else _usage(*answer.usage)
        return {**self._shared, "object": "chat.completion", "choices": [choice], "usage": usage}

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return self._event([choice], None)

    def _usage_chunk(self, usage: tuple[int, int, int] | None) -> bytes:
        return self._event([], _usage(*usage)) if self._tells_usage and usage is not None else b""

    def _event(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None) -> bytes:
        counted = {"usage": usage} if self._tells_usage else {}
        return server_event(as_json({**self._shared, "object": "chat.completion.chunk", "choices": choices, **counted}))


def _usage(given: int, made: int, reasoned: int) -> dict[str, Any]:
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "completion_tokens_details": {"reasoning_tokens": reasoned},
        "prompt_tokens_details": {"cached_tokens": 0},
    }
