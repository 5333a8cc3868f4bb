"""A reranker behind HTTP, in the form that Cohere, Jina, vLLM and others share."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence

import httpx
from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from citewire.runtime.errors import TransientError
from citewire.text.normalise import clean
from retriever.reranking.reranker import RerankerUnavailable
from retriever.reranking.scale import probabilities
from retriever.reranking.settings import HttpRerankerSettings

# Statuses that a later request may not have: too slow, too early, too many, and what is wrong at the server.
_PASSING = frozenset({408, 425, 429})


class _Result(BaseModel):
    index: int = Field(ge=0)
    relevance_score: FiniteFloat


class _Reply(BaseModel):
    results: list[_Result]


class EndpointReranker:
    """One endpoint and one model; the client is the caller's to close."""

    def __init__(self, client: httpx.AsyncClient, settings: HttpRerankerSettings) -> None:
        self._client = client
        self._settings = settings

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One request for all texts; a text that the reply leaves out has 0. See `Reranker`."""
        if not texts:
            return []
        response = await self._ask(query, texts)
        _check(response.status_code)
        return _scores(response.content, len(texts))

    async def _ask(self, query: str, texts: Sequence[str]) -> httpx.Response:
        body = {
            "model": self._settings.model,
            "query": clean(query),
            "documents": [clean(text) for text in texts],
            "top_n": len(texts),
        }
        try:
            # The whole request has this time, where the client's own limits are for each step of it.
            async with asyncio.timeout(self._settings.timeout):
                return await self._client.post(str(self._settings.url), json=body)
        except TimeoutError as error:
            raise TransientError(f"the reranker did not answer in {self._settings.timeout:g} s") from error
        except httpx.HTTPError as error:
            raise TransientError(f"the reranker can't be reached: {type(error).__name__}") from error


@contextlib.asynccontextmanager
async def open_endpoint(settings: HttpRerankerSettings) -> AsyncGenerator[EndpointReranker]:
    """A reranker with a client of its own, which keeps its connections until the end."""
    key = settings.api_key.get_secret_value()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(headers=headers, timeout=settings.timeout) as client:
        yield EndpointReranker(client, settings)


def _check(status: int) -> None:
    if status in _PASSING or status >= httpx.codes.INTERNAL_SERVER_ERROR:
        raise TransientError(f"the reranker answered with status {status}")
    if not httpx.codes.is_success(status):
        raise RerankerUnavailable(f"the reranker answered with status {status}")


def _scores(content: bytes, texts: int) -> list[float]:
    try:
        results = _Reply.model_validate_json(content).results
    except ValidationError as error:
        raise RerankerUnavailable("the reranker's answer is not in the common form") from error
    places = [result.index for result in results]
    if len(set(places)) < len(places) or any(place >= texts for place in places):
        raise RerankerUnavailable("the reranker's answer names texts that it was not given, or names one twice")
    scores = [0.0] * texts
    for place, score in zip(places, probabilities([result.relevance_score for result in results]), strict=True):
        scores[place] = score
    return scores
