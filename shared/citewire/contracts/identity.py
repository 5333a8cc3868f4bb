"""Who asks: users, their groups and roles."""

from datetime import datetime
from enum import StrEnum

from citewire.contracts.model import Message


class Role(StrEnum):
    """What a user may do: an administrator manages knowledge bases and keys, a user asks."""

    ADMINISTRATOR = "administrator"
    USER = "user"


class User(Message):
    """The identity that a question carries, as the gateway (or the publishing service) established it."""

    user_id: str
    groups: tuple[str, ...] = ()
    role: Role = Role.USER


def service_user(asker: str) -> User:
    """The identity of another service that asks for itself: in no group, and nobody's administrator."""
    return User(user_id=f"service:{asker}")


class ApiKey(Message):
    """One bearer key as kept in the watched bucket: the key itself is nowhere, only its SHA-256 is the entry's name."""

    key_id: str
    user: User
    created_at: datetime
    label: str = ""


class BrowserSession(Message):
    """One signed-in browser: the cookie's SHA-256 is the entry's name, so the bucket holds no usable token."""

    key_hash: str
    csrf_token: str
    created_at: datetime
