"""What the rest of the retriever knows of an embedder."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from citewire.runtime.errors import ServiceError

# Seconds: a search goes on without its vectors after the first, an ingest comes back later after the second.
QUERY_LIMIT = 5.0
BATCH_LIMIT = 120.0


class Role(StrEnum):
    """What a text is to a search; models are trained to tell the two apart."""

    QUERY = "query"
    PASSAGE = "passage"


class EmbedderUnavailable(ServiceError):  # noqa: N818 - says what is the matter
    """An embedder that will not work until its operator changes something; `reason` is fit to be shown."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Embedder(Protocol):
    """Makes vectors of unit length, so that their inner product is their cosine.

    Its methods raise TransientError for what may pass (a time-out, a worker that died, a busy server) and
    EmbedderUnavailable for what will not.
    """

    @property
    def name(self) -> str:
        """Model and preparation: vectors are comparable if, and only if, their embedders' names are equal."""

    @property
    def dimension(self) -> int | None:
        """Numbers in a vector; None until the first text was embedded where nothing else tells it."""

    async def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors [len(texts), dimension] of texts to be found, in their order."""

    async def query(self, text: str) -> NDArray[np.float32]:
        """The vector [dimension] of a text to search with."""
