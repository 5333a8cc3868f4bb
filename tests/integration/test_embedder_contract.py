"""What every embedder does, whatever is behind it."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import numpy as np
import pytest
from pydantic import AnyHttpUrl

from fastembed_cache import MODEL, make_fastembed_cache
from retriever.embedding.embedder import Embedder
from retriever.embedding.embedders import open_embedders
from retriever.embedding.settings import BundledSettings, EmbedderSettings, FastembedSettings, OpenAISettings
from scripted_embeddings import scripted_embeddings

TEXTS = [f"text number {number} " + "and so on " * (number % 7) for number in range(30)]


@pytest.fixture(scope="session")
def shared_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of workers that stay from one test to the next, if they follow closely."""
    folder = tmp_path_factory.mktemp("embedding")
    make_fastembed_cache(folder / "fetched")
    return folder


@pytest.fixture(scope="session", params=["bundled", "openai", "fastembed"])
def kind(request: pytest.FixtureRequest) -> str:
    """Session-wide, so that the tests of one kind follow each other."""
    return str(request.param)


@pytest.fixture
async def embedder(kind: str, shared_dir: Path) -> AsyncGenerator[Embedder]:
    with contextlib.ExitStack() as stack:
        settings = _settings(kind, shared_dir, stack)
        async with open_embedders({"tested": settings}, shared_dir) as embedders:
            # A query has less time than a first start may take.
            await embedders.get("tested").passages(["ready"])
            yield embedders.get("tested")


def _settings(kind: str, folder: Path, stack: contextlib.ExitStack) -> EmbedderSettings:
    if kind == "bundled":
        return BundledSettings()
    if kind == "openai":
        server = stack.enter_context(scripted_embeddings())
        return OpenAISettings(kind="openai", base_url=AnyHttpUrl(server.url), model="small", batch_size=7)
    return FastembedSettings(kind="fastembed", model=MODEL, cache_dir=folder / "fetched")


async def test_vectors_have_unit_length(embedder: Embedder) -> None:
    vectors = await embedder.passages(TEXTS)

    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


async def test_vectors_are_float32_rows_of_the_dimension(embedder: Embedder) -> None:
    vectors = await embedder.passages(TEXTS)

    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.dimension)


async def test_a_query_has_one_vector_of_unit_length_and_the_same_dimension(embedder: Embedder) -> None:
    vector = await embedder.query("Which text?")

    assert vector.dtype == np.float32
    assert vector.shape == (embedder.dimension,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


async def test_vectors_are_in_the_order_of_their_texts(embedder: Embedder) -> None:
    forwards = await embedder.passages(TEXTS)
    backwards = await embedder.passages(TEXTS[::-1])

    assert np.allclose(forwards, backwards[::-1], atol=1e-5)
    assert not np.allclose(forwards, backwards, atol=1e-2)


async def test_no_text_has_no_vector(embedder: Embedder) -> None:
    assert len(await embedder.passages([])) == 0


async def test_a_name_says_what_it_is(embedder: Embedder) -> None:
    assert embedder.name.startswith(("multilingual-e5-small/", "openai/small", "fastembed/BAAI/"))
