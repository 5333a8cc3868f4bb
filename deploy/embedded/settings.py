"""Where the local stack keeps its data, and what it starts or uses in place of its own servers."""

from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict


class EmbeddedSettings(BaseSettings):
    """Settings of the local stack (`CITEWIRE_DATA_DIR` and so on); an empty variable counts as unset."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_", frozen=True, extra="ignore", env_ignore_empty=True)

    data_dir: Path = Path(".citewire")
    # A URL means: use that server and start none.
    nats_url: str | None = None
    redis_url: str | None = None
    postgres_url: str | None = None
    # A path, or a name to look up in PATH; none: the wheel's, else a suitable one of the system.
    embedded_nats_binary: Path | None = None
    embedded_redis_binary: Path | None = None
    embedded_postgres_bin_dir: Path | None = None
