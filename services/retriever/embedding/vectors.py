"""Arithmetic on vectors."""

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.embedder import EmbedderUnavailable


def unit_rows(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Each row of [n, dimension] at unit length; raises EmbedderUnavailable for a row that has no direction."""
    with np.errstate(over="ignore"):  # to infinity, which is found out below
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbedderUnavailable("the model gave a vector that has no direction")
    return np.asarray(rows / lengths, dtype=np.float32)
