"""The one error of the local stack."""


class EmbeddedError(Exception):
    """A server of the local stack can't be found or started; the message says what to do about it."""
