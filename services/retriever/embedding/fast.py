"""Models of fastembed's list in this process."""

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.embedder import EmbedderUnavailable, Role
from retriever.embedding.settings import FastembedSettings
from retriever.embedding.tokens import clean
from retriever.embedding.vectors import unit_rows


class _TextEmbedding(Protocol):
    """What is used of fastembed's TextEmbedding."""

    def embed(self, documents: list[str], /) -> Iterable[NDArray[Any]]: ...


def load_fastembed(settings: FastembedSettings, cache_dir: Path) -> "FastembedModel":
    """The model out of the cache, else from fastembed's hub, which may take minutes; raises EmbedderUnavailable."""
    folder = settings.cache_dir or cache_dir
    try:
        fastembed: Any = importlib.import_module("fastembed")  # an extra
    except ImportError as error:
        raise EmbedderUnavailable("fastembed is not installed: install citewire-services[fastembed]") from error
    try:
        # One thread: the worker has as many as it may.
        model: _TextEmbedding = fastembed.TextEmbedding(settings.model, cache_dir=str(folder), threads=1)
    except (OSError, ValueError) as error:
        reason = f"fastembed could neither find {settings.model} in {folder} nor fetch it: {error}"
        raise EmbedderUnavailable(reason) from error
    return FastembedModel(model, settings)


class FastembedModel:
    """Embeds on the thread that asks; any number of threads may."""

    def __init__(self, model: _TextEmbedding, settings: FastembedSettings) -> None:
        self._model = model
        self._prefixes = {Role.QUERY: settings.query_prefix, Role.PASSAGE: settings.passage_prefix}

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Vectors [len(texts), dimension] of unit length."""
        rows = list(self._model.embed([self._prefixes[role] + clean(text) for text in texts]))
        return unit_rows(np.array(rows, dtype=np.float64))
