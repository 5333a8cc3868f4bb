"""What an operator may set for the retriever."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """`CITEWIRE_RETRIEVER_…`, and the Postgres server that the owners of data share."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_RETRIEVER_", frozen=True, extra="ignore")

    postgres_url: str = Field(
        default="postgresql://citewire@127.0.0.1:5432/citewire", validation_alias="CITEWIRE_POSTGRES_URL"
    )
    # Where the lexical indexes lie; replicas on one machine may share it, each takes a folder of its own inside.
    data_dir: Path = Path(".citewire/retriever")
    # How much more a word of a chunk's header counts than one of its body.
    header_boost: float = Field(default=2.0, ge=0)
    # Seconds between two looks at Postgres for changes that the bus did not announce.
    follow_interval: float = Field(default=3.0, gt=0)
    # Seconds that reading one file may take before it is given up.
    reading_limit: float = Field(default=300.0, gt=0)
    # Characters that all segments of one search have together: keeps the event below the bus's payload limit.
    segment_characters: int = Field(default=80_000, ge=1_000, le=100_000)
