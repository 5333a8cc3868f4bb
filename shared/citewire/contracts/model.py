"""The shape that every message shares: immutable, and blind to fields it does not know."""

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """Base of everything on the wire; fields added later have defaults, so old readers stay right."""

    # NaN and infinities are no JSON: what is written with them could not be read back.
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Input(BaseModel):
    """Base of what people and programs send in: unknown names are errors, so a typing slip is seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")
