"""Keys of providers, encrypted with the master key: Fernet (AES-128 in CBC with an HMAC), one token per key."""

import json

from cryptography.fernet import Fernet, InvalidToken, MultiFernet


class MasterKeyError(Exception):
    """There is no master key, or none of those there are has sealed this."""


class ForeignSealError(Exception):
    """A key that was sealed for another provider, or to be sent elsewhere."""


class Sealer:
    """Seals keys and opens them again, with one or more master keys: the first seals, each of them opens.

    `is_malformed` says that there are some and that they can't be used. What a key is for is sealed with it, so that
    who can write sealed keys can't have one sent to another place.
    """

    def __init__(self, master_keys: str) -> None:
        """Take master keys of 32 bytes in base64 each, with commas between them."""
        self.is_malformed = False
        try:
            fernets = [Fernet(key.strip()) for key in master_keys.split(",") if key.strip()]
        except ValueError:
            fernets, self.is_malformed = [], True
        self._fernet = MultiFernet(fernets) if fernets else None

    @property
    def is_ready(self) -> bool:
        """Whether there is a master key at all."""
        return self._fernet is not None

    def seal(self, key: str, name: str, origin: str) -> str:
        """A key encrypted for the provider of this name at this origin; raises MasterKeyError."""
        if self._fernet is None:
            raise MasterKeyError
        return self._fernet.encrypt(json.dumps([name, origin, key]).encode()).decode("ascii")

    def open(self, sealed_key: str, name: str, origin: str) -> str:
        """The key again; raises MasterKeyError, or ForeignSealError where it was sealed for something else."""
        if self._fernet is None:
            raise MasterKeyError
        try:
            sealed_name, sealed_origin, key = json.loads(self._fernet.decrypt(sealed_key.encode()))
        except InvalidToken as error:
            raise MasterKeyError from error
        if (sealed_name, sealed_origin) != (name, origin):
            raise ForeignSealError
        return str(key)
