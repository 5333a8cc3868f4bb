"""What an operator may set for the planner."""

from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """`CITEWIRE_AUTOQUERY_…`."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_AUTOQUERY_", frozen=True, extra="ignore")

    # The part of an answer's time that retrieval may take, and its upper limit in seconds.
    retrieval_share: float = 0.4
    retrieval_limit: float = 8.0
