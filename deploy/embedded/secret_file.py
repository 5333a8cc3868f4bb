"""Secrets of a local stack: each made once, and kept in a file of the data folder for this machine's user."""

import os
from collections.abc import Callable
from pathlib import Path


def kept_secret(file: Path, make: Callable[[], str]) -> tuple[str, bool]:
    """What a file has, and whether it is new; a file that is there is never written."""
    if file.exists():
        return file.read_text(encoding="ascii").strip(), False
    secret = make()
    # Readable by its owner from the first moment, and never half-written.
    new = file.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as output:
        output.write(secret + "\n")
    new.replace(file)
    return secret, True
