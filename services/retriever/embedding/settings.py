"""What an operator may set for the embedders."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, SecretStr, field_validator


class _Settings(BaseModel):
    # An error about what stands beside a key must not show the key; a model around these needs the same.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class BundledSettings(_Settings):
    """multilingual-e5-small out of a package, run on this machine."""

    kind: Literal["bundled"] = "bundled"
    # Passages that are embedded at the same time, a processor each; None leaves one processor to the rest.
    passage_threads: int | None = Field(default=None, ge=1)


class OpenAISettings(_Settings):
    """A server that speaks OpenAI's embeddings API; `base_url` ends where `/embeddings` begins."""

    kind: Literal["openai"]
    base_url: AnyHttpUrl
    model: str = Field(min_length=1)
    api_key: SecretStr | None = None
    # Asks the server for shorter vectors than the model's own.
    dimensions: int | None = Field(default=None, ge=1)
    query_prefix: str = ""
    passage_prefix: str = ""
    # Texts in one request.
    batch_size: int = Field(default=64, ge=1, le=2048)

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        value = "" if key is None else key.get_secret_value()
        if not value.isascii() or not value.isprintable() or " " in value or (key is not None and not value):
            raise ValueError("must be printable ASCII without blanks")
        return key


class FastembedSettings(_Settings):
    """A model of fastembed's list, fetched from its hub at the first use unless `cache_dir` has it."""

    kind: Literal["fastembed"]
    model: str = Field(min_length=1)
    cache_dir: Path | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    passage_threads: int | None = Field(default=None, ge=1)


# The embedders that run on this machine, in a worker of their own.
LocalSettings = Annotated[BundledSettings | FastembedSettings, Field(discriminator="kind")]
EmbedderSettings = Annotated[BundledSettings | OpenAISettings | FastembedSettings, Field(discriminator="kind")]
