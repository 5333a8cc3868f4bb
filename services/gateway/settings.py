"""What an operator may set for the gateway."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

MEGABYTE = 1024 * 1024


class Settings(BaseSettings):
    """`CITEWIRE_GATEWAY_…`; sizes in bytes, times in seconds."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_GATEWAY_", frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    port: int = 8700
    # The identity that the gateway publishes questions under: one token of a NATS subject.
    asker: str = "web"
    # The page's own origin, when a proxy in front changes the Host header; empty: the Host header decides.
    public_origin: str = ""
    # Set it where the page is served over HTTPS: the cookie then never travels in the clear.
    cookie_secure: bool = False
    # Registered at start as long as there is no administrator key; empty: none.
    first_admin_key: SecretStr = SecretStr("")
    max_body: int = MEGABYTE
    max_upload: int = 50 * MEGABYTE
    # Silence on a stream after which a comment keeps proxies from closing it.
    heartbeat: float = 15.0
    # How long `done` waits for the database once the answer is complete.
    persist_grace: float = 2.0
    # How long past its deadline an answer without an end is waited for: the persister ends it some 10 s after it.
    overdue_grace: float = 30.0
    # Seconds that a client may take nothing of its stream before it is cut off.
    send_limit: float = 30.0
    # Of one user: questions per minute in the long run, of which so many at once, and answers that run at the same
    # time. 0 is no limit, here and below.
    questions_per_minute: int = Field(default=60, ge=0)
    questions_burst: int = Field(default=20, ge=1)
    running_per_user: int = Field(default=8, ge=0)
    # Of all users: what may wait in any stage of the chain, and the streams that one gateway process keeps open.
    max_waiting: int = Field(default=500, ge=0)
    max_streams: int = Field(default=5000, ge=0)
