"""The embedders of a retriever."""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from retriever.embedding.embedder import Embedder, EmbedderUnavailable
from retriever.embedding.settings import BundledSettings, EmbedderSettings, OpenAISettings
from retriever.embedding.worker_embedder import open_worker

# The name of the bundled model, which needs no settings.
BUNDLED = "e5"


class Embedders:
    """What `open_embedders` opened, by name."""

    def __init__(self, by_name: Mapping[str, Embedder]) -> None:
        self._by_name = by_name

    def get(self, name: str) -> Embedder:
        """Raises EmbedderUnavailable."""
        if name not in self._by_name:
            raise EmbedderUnavailable(f"no embedder is called {name}")
        return self._by_name[name]


@contextlib.asynccontextmanager
async def open_embedders(settings: Mapping[str, EmbedderSettings], data_dir: Path) -> AsyncGenerator[Embedders]:
    """All embedders that are set, and the bundled one as "e5"; nothing is connected before it is asked.

    Raises ValueError where "e5" is set to be another one.
    """
    complete: dict[str, EmbedderSettings] = {BUNDLED: BundledSettings(), **settings}
    if complete[BUNDLED].kind != "bundled":
        raise ValueError(f"the name {BUNDLED} is the bundled embedder's")
    async with contextlib.AsyncExitStack() as stack:
        by_name: dict[str, Embedder] = {}
        for name, each in complete.items():
            by_name[name] = await stack.enter_async_context(_open(each, data_dir))
        yield Embedders(by_name)


def _open(settings: EmbedderSettings, data_dir: Path) -> contextlib.AbstractAsyncContextManager[Embedder]:
    if isinstance(settings, OpenAISettings):
        from retriever.embedding.remote import open_remote  # noqa: PLC0415 - 40 MB, for those who use it

        return open_remote(settings)
    return open_worker(settings, data_dir)
