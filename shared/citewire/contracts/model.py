"""The shape that every message shares: immutable, and blind to fields it does not know."""

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """Base of everything on the wire; fields added later have defaults, so old readers stay right."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Input(BaseModel):
    """Base of what people and programs send in: unknown names are errors, so a typing slip is seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")
