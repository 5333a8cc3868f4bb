"""Where the servers are and how this process runs: read from the environment once, at start."""

from urllib.parse import urlsplit

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

ROLES = ("gateway", "autoquery", "retriever", "generator", "persister")


class RuntimeSettings(BaseSettings):
    """Settings that every process has (`CITEWIRE_NATS_URL` and so on)."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_", frozen=True, extra="ignore")

    nats_url: str = "nats://127.0.0.1:4222"
    redis_url: str = "redis://127.0.0.1:6379/0"
    # Who may say in the messages of the bus which user asks; any other asker asks for itself.
    trusted_askers: tuple[str, ...] = ("web",)
    # Bounds the work in flight of one role over all its processes, together with its workers per process.
    max_replicas: int = 1
    # Seconds that running work may take to end after SIGTERM, before it is left to another process.
    graceful_timeout: float = 15.0
    # Seconds from SIGTERM, when readiness fails, to the moment when streams are cut and work is no longer taken.
    drain_delay: float = 0.0
    # Where a worker process without an HTTP service of its own answers health checks; none: nowhere.
    health_host: str = "127.0.0.1"
    health_port: int | None = None
    # Seals the keys of model providers: 32 bytes in base64; where several stand with commas between them, the first
    # seals and each opens. None: keys can't be kept, and no model is asked.
    master_key: SecretStr = SecretStr("")
    log_level: str = "info"
    log_format: str = "console"

    @property
    def inbox_prefix(self) -> str:
        """Where replies of NATS come: below the user's own name, where no other user may listen."""
        login = urlsplit(self.nats_url.partition(",")[0])
        # A name without a password is a token.
        return f"_INBOX_{login.username}" if login.password else "_INBOX"
