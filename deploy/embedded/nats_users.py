"""Who connects to the local NATS server: the users that its configuration names, with passwords kept beside it."""

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

# The configuration takes each user's password from a variable, which has the user's name in capitals after this.
VARIABLE = "CITEWIRE_NATS_PASSWORD_"
# Who may do everything.
ADMINISTRATOR = "citewire"


def kept_passwords(folder: Path) -> dict[str, str]:
    """The password of each user as last kept in the server's folder."""
    file = folder / "passwords"
    lines = file.read_text(encoding="ascii").split() if file.exists() else []
    return dict(line.split("=", 1) for line in lines)


def keep_passwords(folder: Path, *configurations: str) -> dict[str, str]:
    """The password of each user that the configurations name; one that has none yet gets one, which is kept."""
    passwords = kept_passwords(folder)
    for name in re.findall(rf"\${VARIABLE}(\w+)", "\n".join(configurations)):
        # The configuration reads a word; what begins with a digit would be a number.
        passwords.setdefault(name.lower(), f"p{secrets.token_hex(16)}")
    _write(folder / "passwords", passwords)
    return passwords


def as_variables(passwords: Mapping[str, str]) -> dict[str, str]:
    """The environment in which the configuration finds the passwords."""
    return {VARIABLE + user.upper(): password for user, password in passwords.items()}


def urls_by_user(url: str, passwords: Mapping[str, str]) -> dict[str, str]:
    """The server's URL as each user has it."""
    place = urlsplit(url).netloc.rpartition("@")[2]
    return {user: f"nats://{user}:{password}@{place}" for user, password in passwords.items()}


def _write(file: Path, passwords: Mapping[str, str]) -> None:
    # Readable by its owner from the first moment, and never half-written.
    new = file.with_suffix(".new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as output:
        output.writelines(f"{user}={password}\n" for user, password in passwords.items())
    new.replace(file)
