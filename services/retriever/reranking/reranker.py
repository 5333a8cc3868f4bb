"""What a reranker is, whatever it runs on."""

from collections.abc import Sequence
from typing import Protocol


class RerankerUnavailable(Exception):  # noqa: N818 - why a search goes on without it, for its reader
    """The reranker can't be used as it is configured; `str()` says why, without secrets."""


class Reranker(Protocol):
    """A cross-encoder, here or elsewhere."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How relevant each text is, from 0 to 1, in the order of the texts; scores of two queries can be compared.

        Raises TransientError for what may pass and RerankerUnavailable for what will not.
        """
        ...
