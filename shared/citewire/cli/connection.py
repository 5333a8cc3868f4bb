"""Where the service is and with which key: options, environment, or what a local `citewire up` left."""

from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict

DEFAULT_URL = "http://127.0.0.1:8700"


class ClientSettings(BaseSettings):
    """`CITEWIRE_URL`, `CITEWIRE_KEY`, and `CITEWIRE_DATA_DIR` for a stack on this machine."""

    model_config = SettingsConfigDict(env_prefix="CITEWIRE_", frozen=True, extra="ignore")

    url: str | None = None
    key: str | None = None
    data_dir: Path = Path(".citewire")

    def resolved_url(self) -> str:
        """The service's address."""
        return self.url or _read(self.data_dir / "url") or DEFAULT_URL

    def resolved_key(self) -> str | None:
        """The key, if there is one."""
        return self.key or _read(self.data_dir / "admin.key")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None
