"""A server on loopback that speaks OpenAI's Responses and Chat Completions interfaces as it is told to."""

from scripted_model.connection import Received
from scripted_model.replies import (
    Answer,
    Piece,
    Reply,
    Status,
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
from scripted_model.server import ScriptedModel

__all__ = [
    "Answer",
    "Piece",
    "Received",
    "Reply",
    "ScriptedModel",
    "Status",
    "Voice",
    "cut",
    "error_in_stream",
    "failed",
    "garbage",
    "incomplete",
    "pieces",
    "reasoning",
    "refusal",
    "silent",
    "status",
]
