"""What an operator may set for the generator."""

from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """`CITEWIRE_GENERATOR_…`."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_GENERATOR_", frozen=True, extra="ignore")

    # The part of an answer's time that it waits for segments, and its upper limit in seconds. A little more
    # than the retrievers' own, so that a late knowledge base is reported by itself.
    gather_share: float = 0.45
    gather_limit: float = 9.0
    # Budgets of the evidence: characters per knowledge base and in all, o200k_base tokens in all.
    characters_per_kb: int = 12_000
    characters: int = 24_000
    tokens: int = 16_000
    max_sources: int = 40
    # Characters that the text may have, so that its outcome fits into a message.
    answer_characters: int = 100_000
    # After the first piece, text is written in windows of this many seconds.
    write_window: float = 0.025
