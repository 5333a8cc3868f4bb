"""What an operator may set for the gateway."""

from pydantic import SecretStr
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
