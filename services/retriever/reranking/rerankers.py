"""The rerankers of this process, by the names that an operator gave them."""

import contextlib
from collections.abc import AsyncGenerator, Mapping

from retriever.reranking.endpoint import open_endpoint
from retriever.reranking.local import open_local
from retriever.reranking.reranker import Reranker, RerankerUnavailable
from retriever.reranking.settings import HttpRerankerSettings, OnnxRerankerSettings, RerankerSettings


class Rerankers:
    """Those that are configured."""

    def __init__(self, by_name: Mapping[str, Reranker]) -> None:
        self._by_name = by_name

    def get(self, name: str) -> Reranker:
        """The one of this name; raises RerankerUnavailable."""
        if name not in self._by_name:
            raise RerankerUnavailable(f"no reranker is called {name[:60]!r}")
        return self._by_name[name]


@contextlib.asynccontextmanager
async def open_rerankers(settings: Mapping[str, RerankerSettings]) -> AsyncGenerator[Rerankers]:
    """All that are configured, until the end; nothing is loaded or asked before it is used."""
    async with contextlib.AsyncExitStack() as stack:
        yield Rerankers({name: await stack.enter_async_context(_open(one)) for name, one in settings.items()})


def _open(settings: RerankerSettings) -> contextlib.AbstractAsyncContextManager[Reranker]:
    match settings:
        case HttpRerankerSettings():
            return open_endpoint(settings)
        case OnnxRerankerSettings():
            return open_local(settings.folder)
