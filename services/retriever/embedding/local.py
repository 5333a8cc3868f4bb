"""Models that run on this machine, as the worker sees them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.e5 import load_e5
from retriever.embedding.embedder import Role
from retriever.embedding.fast import load_fastembed
from retriever.embedding.settings import BundledSettings, LocalSettings


class LocalModel(Protocol):
    """Embeds on the thread that asks; raises EmbedderUnavailable."""

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Vectors [len(texts), dimension] of unit length."""


def load_model(settings: LocalSettings, data_dir: Path) -> LocalModel:
    """Takes seconds, or as long as a download; raises EmbedderUnavailable."""
    models_dir = data_dir / "models"
    if isinstance(settings, BundledSettings):
        return load_e5(models_dir)
    return load_fastembed(settings, models_dir / "fastembed")


def thread_count(settings: LocalSettings) -> int:
    """Passages to embed at the same time."""
    return settings.passage_threads or max(1, (os.cpu_count() or 1) - 1)
