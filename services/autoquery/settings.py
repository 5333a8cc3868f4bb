"""What an operator may set for the planner."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """`CITEWIRE_AUTOQUERY_…`; times in seconds."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_AUTOQUERY_", frozen=True, extra="ignore")

    # The part of an answer's time that retrieval may take, and its upper limit.
    retrieval_share: float = Field(default=0.4, gt=0, le=1)
    retrieval_limit: float = Field(default=8.0, gt=0)
    # How long planning may take before it is tried again, without what models take.
    planning_limit: float = Field(default=10.0, gt=0)
    # How long one model may take for a plan, of which two are asked at most; also, a quarter of the time that is left.
    model_limit: float = Field(default=8.0, gt=0)
    # What another service may ask: questions per minute in the long run, of which so many at once, and answers that
    # run at the same time; 0 is no limit.
    questions_per_minute: int = Field(default=600, ge=0)
    questions_at_once: int = Field(default=100, ge=1)
    running_per_service: int = Field(default=64, ge=0)
