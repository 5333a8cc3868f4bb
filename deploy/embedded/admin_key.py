"""The first administrator key of a local stack."""

from pathlib import Path

from embedded.secret_file import kept_secret
from gateway.keys import new_secret


def first_admin_key(data_dir: Path) -> tuple[str, bool]:
    """The key, and whether it is new; the gateway registers it as long as there is no administrator."""
    return kept_secret(data_dir / "admin.key", new_secret)
