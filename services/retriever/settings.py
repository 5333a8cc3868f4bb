"""What an operator may set for the retriever."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from citewire.contracts.knowledge import DEFAULT_POOL, SetUpName
from retriever.embedding.settings import EmbedderSettings
from retriever.reranking.settings import RerankerSettings


class Settings(BaseSettings):
    """`CITEWIRE_RETRIEVER_…`, and the Postgres server that the owners of data share."""

    # A key among the embedders must not be shown when something beside it is wrong.
    model_config = SettingsConfigDict(
        env_prefix="CITEWIRE_RETRIEVER_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    postgres_url: str = Field(
        default="postgresql://citewire@127.0.0.1:5432/citewire", validation_alias="CITEWIRE_POSTGRES_URL"
    )
    # Where the lexical indexes lie; replicas on one machine may share it, each takes a folder of its own inside.
    data_dir: Path = Path(".citewire/retriever")
    # How much a word counts for standing in a chunk's header, beside counting as a word of the chunk.
    header_boost: float = Field(default=0.5, ge=0)
    # Where the machine's embedding worker and its model lie; all retrievers of a machine may share it.
    embedding_dir: Path | None = None
    # The knowledge bases that this process serves: those of this pool.
    pool: SetUpName = DEFAULT_POOL
    # Embedders and rerankers by the names that knowledge bases use, as JSON: {"team": {"kind": "openai", ...}}.
    embedders: dict[SetUpName, EmbedderSettings] = Field(default_factory=dict)
    rerankers: dict[SetUpName, RerankerSettings] = Field(default_factory=dict)
    # Seconds between two looks at Postgres for changes that the bus did not announce.
    follow_interval: float = Field(default=3.0, gt=0)
    # Seconds that reading one file may take before it is given up.
    reading_limit: float = Field(default=300.0, gt=0)
    # Characters that all segments of one search have together: keeps the event below the bus's payload limit.
    segment_characters: int = Field(default=80_000, ge=1_000, le=100_000)
    # Where a model may be used: seconds that summarising one document may take, sections of it that get a summary of
    # their own, and documents that are summarised at the same time.
    contextual_limit: float = Field(default=60.0, gt=0)
    contextual_sections: int = Field(default=24, ge=0, le=500)
    contextual_at_once: int = Field(default=4, ge=1, le=64)
