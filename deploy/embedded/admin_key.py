"""The first administrator key of a local stack: made once, kept in the data folder for this machine's user."""

import os
from pathlib import Path

from gateway.keys import new_secret


def first_admin_key(data_dir: Path) -> tuple[str, bool]:
    """The key, and whether it is new; the gateway registers it as long as there is no administrator."""
    file = data_dir / "admin.key"
    if file.exists():
        return file.read_text(encoding="ascii").strip(), False
    secret = new_secret()
    # Readable by its owner from the first moment, and never half-written.
    descriptor = os.open(file.with_suffix(".new"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as new:
        new.write(secret + "\n")
    file.with_suffix(".new").replace(file)
    return secret, True
