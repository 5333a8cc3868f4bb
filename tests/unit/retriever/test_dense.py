"""Which vectors of a knowledge base are searched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from retriever.dense import DenseLeg
from retriever.embedding.embedder import EmbedderUnavailable
from retriever.embedding.embedders import Embedders
from retriever.store.vectors import Embedded, Space, VectorStore


@dataclass(frozen=True)
class NamedEmbedder:
    """An embedder of which nothing but the name is needed."""

    name: str
    dimension: int | None = 1

    async def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError

    async def query(self, text: str) -> NDArray[np.float32]:
        raise NotImplementedError


def space(number: int, embedder: str, *, is_complete: bool, ready: int) -> Space:
    return Space(number, embedder, f"model of {embedder}", 1, is_complete, is_indexed=False, ready=ready)


def chosen(wanted: str, *spaces: Space) -> Space | None:
    embedders = Embedders({name: NamedEmbedder(f"model of {name}") for name in ("one", "two")})
    leg = DenseLeg(cast("VectorStore", None), embedders)
    return leg._choose(wanted, Embedded(spaces, chunks=9, script=None))[1]


def test_complete_vectors_are_searched_until_those_of_the_new_embedder_are_complete() -> None:
    old, new = space(1, "one", is_complete=True, ready=9), space(2, "two", is_complete=False, ready=8)

    assert chosen("two", new, old) is old


def test_of_incomplete_vectors_those_of_the_wanted_embedder_are_searched() -> None:
    old, new = space(1, "one", is_complete=False, ready=8), space(2, "two", is_complete=False, ready=1)

    assert chosen("two", new, old) is new


def test_an_embedder_changed_before_it_had_done_all_is_searched_until_the_new_one_has_begun() -> None:
    old, new = space(1, "one", is_complete=False, ready=8), space(2, "two", is_complete=False, ready=0)

    assert chosen("two", new, old) is old


def test_vectors_of_an_embedder_that_is_gone_are_not_searched() -> None:
    assert chosen("two", space(1, "gone", is_complete=True, ready=9)) is None


def test_an_unknown_embedder_without_anything_else_is_unavailable() -> None:
    with pytest.raises(EmbedderUnavailable, match="three"):
        chosen("three")
