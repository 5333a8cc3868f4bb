"""Secrets of keys and cookies, and the fingerprints under which they are kept."""

import hashlib
import secrets

KEY_PREFIX = "cw_"


def new_secret() -> str:
    """A random key or cookie value of 256 bits."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def fingerprint(secret: str) -> str:
    """The SHA-256 under which a secret is kept; it has so much entropy that a slow hash adds nothing."""
    return hashlib.sha256(secret.encode()).hexdigest()
