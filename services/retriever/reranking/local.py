"""A reranker in this process: a cross-encoder in a thread of its own."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retriever.reranking.reranker import RerankerUnavailable

if TYPE_CHECKING:
    from retriever.reranking.cross_encoder import CrossEncoder

# Texts in one run of the model: few enough that a search that is given up stops soon, and that memory stays small.
BATCH: Final = 8


class LocalReranker:
    """The model is loaded at its first use, and again at the next one if that failed. One run at a time."""

    def __init__(self, thread: ThreadPoolExecutor, folder: Path) -> None:
        self._thread = thread
        self._folder = folder
        self._model: CrossEncoder | None = None

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The texts in batches of about equal length. See `Reranker`."""
        places = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        scores = [0.0] * len(texts)
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            found = await self._run(query, [texts[place] for place in batch])
            for place, score in zip(batch, found, strict=True):
                scores[place] = score
        return scores

    async def _run(self, query: str, texts: Sequence[str]) -> list[float]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._scores, query, texts)

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if self._model is None:
            self._model = _load(self._folder)
        return self._model.scores(query, texts)


@contextlib.asynccontextmanager
async def open_local(folder: Path) -> AsyncGenerator[LocalReranker]:
    """A reranker whose thread takes no further work at the end; what runs in it then ends by itself."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reranker")
    try:
        yield LocalReranker(thread, folder)
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


def _load(folder: Path) -> "CrossEncoder":
    try:
        # Here, because the packages are large and only this kind of reranker needs them.
        from retriever.reranking.cross_encoder import CrossEncoder  # noqa: PLC0415 - see above
    except ImportError as error:
        raise RerankerUnavailable(f"a package is not installed: {error.name}") from error
    return CrossEncoder(folder)
