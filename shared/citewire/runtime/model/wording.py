"""The texts of a request as a server takes them."""

import json
from dataclasses import replace

from citewire.runtime.model.profiles import Traits
from citewire.runtime.model.requests import ModelRequest
from citewire.text.normalise import clean


def instructions_of(request: ModelRequest, traits: Traits) -> str:
    """The instructions of a request, with its schema behind them if the server can't be told it otherwise."""
    if request.shape is None or traits.takes_schema:
        return request.instructions
    schema = json.dumps(request.shape.schema, ensure_ascii=False)
    return f"{request.instructions}\n\nAnswer with one JSON object and nothing else. Its JSON Schema:\n{schema}"


def texts_of(request: ModelRequest) -> list[str]:
    """All that the model is told in words."""
    return [request.instructions, *(turn.text for turn in request.messages)]


def sendable(request: ModelRequest) -> ModelRequest:
    """The request without lone surrogates, which have no bytes in UTF-8; as good as always the same object."""
    try:
        for text in texts_of(request):
            text.encode()
    except UnicodeEncodeError:
        turns = tuple(replace(turn, text=clean(turn.text)) for turn in request.messages)
        return replace(request, instructions=clean(request.instructions), messages=turns)
    return request
