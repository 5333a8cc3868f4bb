"""A search that nobody waits for any more leaves no thread at work."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from uuid import UUID

import pytest

from citewire.contracts.evidence import SearchQuery
from retriever.index.lexical import LexicalIndex
from retriever.passages import Hit
from retriever.search import Searcher
from waiting import until


class SlowIndex(LexicalIndex):
    """An index whose searches take until they are let go."""

    def __init__(self) -> None:
        self.searches = 0
        self.let_go = threading.Event()

    def search(self, weights: Mapping[str, float], limit: int, documents: Sequence[UUID] | None = None) -> list[Hit]:
        self.searches += 1
        self.let_go.wait(10)
        return []


class Words(Searcher):
    """The part of a searcher that searches words."""

    def __init__(self) -> None:
        pass


async def test_a_search_that_is_given_up_leaves_its_other_queries() -> None:
    index = SlowIndex()
    queries = [SearchQuery(query=text, kb_id="kb") for text in ("one", "two", "three")]
    searching = asyncio.create_task(Words()._search_words(index, queries, None))
    await until(lambda: index.searches == 1)

    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    index.let_go.set()
    await asyncio.get_running_loop().shutdown_default_executor()

    assert index.searches == 1
