"""The master key of a local stack, which seals the keys of model providers."""

import base64
import secrets
from pathlib import Path

from embedded.secret_file import kept_secret

# As Fernet takes it.
KEY_BYTES = 32


def master_key(data_dir: Path) -> str:
    """The key, made at the first start; whoever loses it has to enter the providers' keys again."""
    return kept_secret(data_dir / "master.key", _new_key)[0]


def _new_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")
