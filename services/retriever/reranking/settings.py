"""What an operator may set for a reranker, by its kind."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, SecretStr


class HttpRerankerSettings(BaseModel):
    """A server that speaks the common `/rerank` form; `url` is the whole address of that endpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["http"]
    url: HttpUrl
    model: str = ""
    api_key: SecretStr = SecretStr("")
    # Seconds that one request may take.
    timeout: float = Field(default=10.0, gt=0, le=120)


class OnnxRerankerSettings(BaseModel):
    """A cross-encoder on this machine: a folder with `model.onnx` and `tokenizer.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["onnx"]
    folder: Path


RerankerSettings = Annotated[HttpRerankerSettings | OnnxRerankerSettings, Field(discriminator="kind")]
