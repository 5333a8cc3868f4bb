"""Embedders on a server that speaks OpenAI's embeddings API."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence

import numpy as np
import openai
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from citewire.runtime.errors import ServiceError, TransientError
from retriever.embedding.embedder import BATCH_LIMIT, QUERY_LIMIT, EmbedderUnavailable
from retriever.embedding.names import embedder_name
from retriever.embedding.settings import OpenAISettings
from retriever.embedding.tokens import clean
from retriever.embedding.vectors import unit_rows

_RETRIES = 2
# Statuses below 500 that may pass: too slow, in conflict, too early, too many.
_PASSING = {408, 409, 425, 429}
_FIRST_SERVER_ERROR = 500
# What the server itself says of these is left out: it may hold the key, or half of it.
_REASONS = {
    401: "the embedding server does not accept the API key",
    403: "the embedding server does not allow this key to use the model",
    404: "the embedding server has no such model or no such address",
}


@contextlib.asynccontextmanager
async def open_remote(settings: OpenAISettings) -> AsyncGenerator["RemoteEmbedder"]:
    """An embedder with one client, and its connections, for as long as it is open."""
    # A server that wants no key is sent some word, or the client would look for a key elsewhere.
    key = settings.api_key.get_secret_value() if settings.api_key else "none"
    client = openai.AsyncOpenAI(
        base_url=str(settings.base_url), api_key=key, max_retries=_RETRIES, timeout=BATCH_LIMIT / (_RETRIES + 1)
    )
    async with client:
        yield RemoteEmbedder(client, settings)


class RemoteEmbedder:
    """An embedder that asks a server and takes nothing it answers on trust."""

    def __init__(self, client: openai.AsyncOpenAI, settings: OpenAISettings) -> None:
        self._client = client
        self._settings = settings
        self._dimension = settings.dimensions

    @property
    def name(self) -> str:
        """Model and preparation; not the server."""
        settings = self._settings
        return embedder_name("openai", settings.model, settings.passage_prefix, settings.dimensions)

    @property
    def dimension(self) -> int | None:
        return self._dimension

    async def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors [len(texts), dimension]; raises TransientError and EmbedderUnavailable."""
        if not texts:
            return np.empty((0, self._dimension or 0), dtype=np.float32)
        prepared = [_prepare(self._settings.passage_prefix, text) for text in texts]
        size = self._settings.batch_size
        batches = [prepared[start : start + size] for start in range(0, len(prepared), size)]
        return np.concatenate([await self._embed(batch, BATCH_LIMIT) for batch in batches])

    async def query(self, text: str) -> NDArray[np.float32]:
        """The vector [dimension]; raises TransientError and EmbedderUnavailable."""
        vectors = await self._embed([_prepare(self._settings.query_prefix, text)], QUERY_LIMIT)
        return np.asarray(vectors[0])

    async def _embed(self, texts: list[str], limit: float) -> NDArray[np.float32]:
        try:
            async with asyncio.timeout(limit):
                vectors = _read(await self._request(texts), len(texts))
        except TimeoutError as error:
            raise TransientError(f"the embedding server took longer than {limit:.0f} s") from error
        self._check_dimension(vectors.shape[1])
        return unit_rows(vectors)

    async def _request(self, texts: list[str]) -> bytes:
        try:
            # Raw, because the client takes an answer of any shape for one of the right shape.
            response = await self._client.embeddings.with_raw_response.create(
                model=self._settings.model,
                input=texts,
                encoding_format="float",
                dimensions=self._settings.dimensions or openai.omit,
            )
        except openai.APIStatusError as error:
            # Not chained: what the server said may hold the key.
            raise self._failure(error) from None
        except openai.APIConnectionError as error:
            raise TransientError("the embedding server cannot be reached") from error
        return response.content

    def _failure(self, error: openai.APIStatusError) -> ServiceError:
        status = error.status_code
        if status in _PASSING or status >= _FIRST_SERVER_ERROR:
            return TransientError(f"the embedding server answered with status {status}")
        return EmbedderUnavailable(_REASONS.get(status, f"the embedding server answered with status {status}"))

    def _check_dimension(self, dimension: int) -> None:
        if self._dimension is None:
            self._dimension = dimension
        if dimension != self._dimension:
            raise EmbedderUnavailable(f"the embedding server gave {dimension} dimensions and not {self._dimension}")


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Answer(BaseModel):
    data: list[_Row]


def _prepare(prefix: str, text: str) -> str:
    # Servers refuse a text without any character.
    return (prefix + clean(text)) or " "


def _read(body: bytes, count: int) -> NDArray[np.float64]:
    """The vectors [count, dimension] of an answer in the order of their texts; raises EmbedderUnavailable."""
    try:
        rows = sorted(_Answer.model_validate_json(body).data, key=lambda row: row.index)
    except ValidationError:
        raise EmbedderUnavailable("the embedding server's answer is not one of the embeddings API") from None
    if [row.index for row in rows] != list(range(count)):
        raise EmbedderUnavailable(
            f"the embedding server gave {len(rows)} vectors for {count} texts, or misnumbered them"
        )
    if len({len(row.embedding) for row in rows}) != 1:
        raise EmbedderUnavailable("the embedding server gave vectors of different dimensions in one answer")
    return np.array([row.embedding for row in rows], dtype=np.float64)
