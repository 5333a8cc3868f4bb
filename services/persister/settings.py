"""What an operator may set for the persister."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """`CITEWIRE_PERSISTER_…`, and the Postgres server that the owners of data share; times in seconds."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_PERSISTER_", frozen=True, extra="ignore")

    postgres_url: str = Field(
        default="postgresql://citewire@127.0.0.1:5432/citewire", validation_alias="CITEWIRE_POSTGRES_URL"
    )
    # How often to look for questions that nobody has ended, and how long after its deadline one counts as such.
    sweep_interval: float = Field(default=5.0, gt=0)
    sweep_grace: float = Field(default=10.0, ge=0)
