"""multilingual-e5-small (Wang et al. 2024, "Multilingual E5 Text Embeddings") in this process."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.cache import cached
from retriever.embedding.embedder import EmbedderUnavailable, Role
from retriever.embedding.graph import graph
from retriever.embedding.tokens import Tokens, token_model
from retriever.embedding.vectors import unit_rows
from retriever.embedding.weights import Weights, data_file, open_weights

# The number goes up with anything that changes vectors: graph, tokens, prefixes, pooling.
NAME = "multilingual-e5-small/int8-2"
DIMENSION = 384


def load_e5(models_dir: Path, data: Path | None = None) -> "E5":
    """The model out of its package, or another copy of its data file; raises EmbedderUnavailable."""
    weights = open_weights(data or data_file())
    stem = NAME.replace("/", "-")
    graph_file = cached(models_dir / f"{stem}.onnx", lambda: graph(weights))
    token_file = cached(models_dir / f"{stem}.model", lambda: token_model(weights.vocabulary()))
    return E5(weights, Tokens(token_file), _open_session(graph_file))


class _Session(Protocol):
    """What is used of onnxruntime's InferenceSession, which ships no types."""

    def run(self, outputs: None, inputs: dict[str, NDArray[np.float32]], /) -> list[Any]: ...


class E5:
    """Embeds on the thread that asks; any number of threads may.

    Texts go through the model one at a time: on a processor, that is as fast as in batches, wastes nothing on padding,
    and a text's vector does not depend on its neighbours (inputs are quantised with one scale for a whole batch).
    """

    def __init__(self, weights: Weights, tokens: Tokens, session: _Session) -> None:
        self._weights = weights
        self._tokens = tokens
        self._session = session
        self._places = weights.vector("emb.pos").reshape(-1, DIMENSION) + weights.vector("emb.type")[:DIMENSION]

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Vectors [len(texts), 384] of unit length; a text's first 512 tokens count."""
        rows = [self._mean_state(f"{role}: {text}") for text in texts]
        return unit_rows(np.array(rows, dtype=np.float64).reshape(-1, DIMENSION))

    def _mean_state(self, text: str) -> NDArray[np.float32]:
        ids = self._tokens.ids(text)
        summed = self._weights.words(ids) + self._places[: len(ids)]
        (states,) = self._session.run(None, {"summed": summed[None]})
        return np.asarray(states[0].mean(axis=0))


def _open_session(file: Path) -> _Session:
    try:
        runtime: Any = importlib.import_module("onnxruntime")  # not to be had on every platform
    except ImportError as error:
        raise EmbedderUnavailable("the package onnxruntime is not installed here") from error
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session: _Session = runtime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return session
