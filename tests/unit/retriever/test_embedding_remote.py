"""Embedders on a server that speaks OpenAI's embeddings API, asked by the real client."""

import contextlib
import logging
import socket
import traceback
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import numpy as np
import pytest
from pydantic import AnyHttpUrl, SecretStr

from citewire.runtime.errors import TransientError
from retriever.embedding.embedder import EmbedderUnavailable
from retriever.embedding.remote import RemoteEmbedder, open_remote
from retriever.embedding.settings import OpenAISettings
from scripted_embeddings import DIMENSION, Answer, ScriptedEmbeddings, embeddings, scripted_embeddings, vector_of

KEY = "sk-not-to-be-seen"


@pytest.fixture
def server() -> Iterator[ScriptedEmbeddings]:
    with scripted_embeddings() as scripted:
        yield scripted


@contextlib.asynccontextmanager
async def remote(server: ScriptedEmbeddings, **settings: Any) -> AsyncGenerator[RemoteEmbedder]:
    url = AnyHttpUrl(server.url)
    async with open_remote(
        OpenAISettings(kind="openai", base_url=url, model="small", api_key=SecretStr(KEY), **settings)
    ) as embedder:
        yield embedder


def unit(numbers: list[float]) -> list[float]:
    return [float(value) for value in np.array(numbers, dtype=np.float32) / np.linalg.norm(numbers)]


async def test_a_query_is_sent_with_its_prefix_model_and_key(server: ScriptedEmbeddings) -> None:
    async with remote(server, query_prefix="query: ", passage_prefix="passage: ") as embedder:
        vector = await embedder.query("Why?")

    assert server.requests == [{"model": "small", "input": ["query: Why?"], "encoding_format": "float"}]
    assert server.keys == [f"Bearer {KEY}"]
    assert vector == pytest.approx(unit(vector_of("query: Why?")), abs=1e-6)


async def test_passages_are_sent_in_batches_with_their_prefix(server: ScriptedEmbeddings) -> None:
    async with remote(server, passage_prefix="passage: ", batch_size=2) as embedder:
        vectors = await embedder.passages(["a", "b", "c"])

    assert [request["input"] for request in server.requests] == [["passage: a", "passage: b"], ["passage: c"]]
    assert vectors.shape == (3, DIMENSION)


async def test_vectors_are_put_in_order_by_their_index(server: ScriptedEmbeddings) -> None:
    answer = embeddings([1, 0], [0, 1])
    answer["data"].reverse()
    server.script.append(Answer(200, answer))

    async with remote(server) as embedder:
        vectors = await embedder.passages(["a", "b"])

    assert vectors.tolist() == [[1, 0], [0, 1]]


async def test_shorter_vectors_are_asked_for(server: ScriptedEmbeddings) -> None:
    async with remote(server, dimensions=DIMENSION) as embedder:
        await embedder.query("Why?")

    assert server.requests[0]["dimensions"] == DIMENSION


async def test_the_dimension_is_known_after_the_first_vector(server: ScriptedEmbeddings) -> None:
    async with remote(server) as embedder:
        before = embedder.dimension
        await embedder.query("Why?")

        assert (before, embedder.dimension) == (None, DIMENSION)


@pytest.mark.parametrize("text", ["", "\x00", "\ud800"])
async def test_text_that_no_server_takes_is_made_fit_to_send(server: ScriptedEmbeddings, text: str) -> None:
    async with remote(server) as embedder:
        await embedder.query(text)

    (sent,) = server.requests[0]["input"]
    assert sent in {" ", "?"}


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_a_failure_that_passes_is_tried_again(server: ScriptedEmbeddings, status: int) -> None:
    server.script.append(Answer(status, {"error": {"message": "later"}}))

    async with remote(server) as embedder:
        vector = await embedder.query("Why?")

    assert vector.shape == (DIMENSION,)
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_failure_that_stays_is_transient_after_two_more_tries(server: ScriptedEmbeddings, status: int) -> None:
    server.script.extend([Answer(status, {"error": {"message": "later"}})] * 3)

    async with remote(server) as embedder:
        with pytest.raises(TransientError, match=str(status)):
            await embedder.query("Why?")

    assert len(server.requests) == 3


@pytest.mark.parametrize(("status", "reason"), [(400, "400"), (401, "key"), (403, "key"), (404, "no such model")])
async def test_a_refusal_makes_the_embedder_unavailable(server: ScriptedEmbeddings, status: int, reason: str) -> None:
    server.script.append(Answer(status, {"error": {"message": "no"}}))

    async with remote(server) as embedder:
        with pytest.raises(EmbedderUnavailable, match=reason):
            await embedder.query("Why?")

    assert len(server.requests) == 1


ANSWERS_THAT_WILL_NOT_DO = {
    "too few": embeddings([1, 2]),
    "too many": embeddings([1, 2], [3, 4], [5, 6]),
    "ragged": embeddings([1, 2], [3]),
    "empty": embeddings([], []),
    "zero": embeddings([1, 2], [0, 0]),
    "infinite": embeddings([1, 2], [float("inf"), 0]),
    "huge": embeddings([1, 2], [1e300, 0]),
    "not a number": embeddings([1, 2], [float("nan"), 0]),
    "text": embeddings([1, 2], ["a", "b"]),
    "null": embeddings([1, 2], [None, 1]),
    "same index": {"data": [{"index": 0, "embedding": [1, 2]}] * 2},
    "no data": {"object": "list"},
    "a list": [],
    "no JSON": b"<html>It works!</html>",
    "half": b'{"data": [',
    "nothing": b"",
    "bytes": b"\xff\xfe",
}


@pytest.mark.parametrize("answer", ANSWERS_THAT_WILL_NOT_DO.values(), ids=ANSWERS_THAT_WILL_NOT_DO.keys())
async def test_an_answer_that_is_not_two_vectors_is_not_taken(server: ScriptedEmbeddings, answer: Any) -> None:
    server.script.append(Answer(200, answer))

    async with remote(server) as embedder:
        with pytest.raises(EmbedderUnavailable):
            await embedder.passages(["a", "b"])


async def test_a_dimension_that_changes_is_not_taken(server: ScriptedEmbeddings) -> None:
    async with remote(server) as embedder:
        await embedder.query("Why?")
        server.script.append(Answer(200, embeddings([1, 2])))

        with pytest.raises(EmbedderUnavailable, match="2 dimensions and not 8"):
            await embedder.query("Who?")


async def test_other_dimensions_than_those_asked_for_are_not_taken(server: ScriptedEmbeddings) -> None:
    async with remote(server, dimensions=4) as embedder:
        with pytest.raises(EmbedderUnavailable, match="8 dimensions and not 4"):
            await embedder.query("Why?")


async def test_a_server_that_is_not_there_is_a_transient_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        nowhere = ScriptedEmbeddings(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")

        async with remote(nowhere) as embedder:
            with pytest.raises(TransientError, match="cannot be reached"):
                await embedder.query("Why?")


async def test_a_server_that_does_not_answer_in_time_is_a_transient_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        nowhere = ScriptedEmbeddings(f"http://127.0.0.1:{silent.getsockname()[1]}/v1")

        async with remote(nowhere) as embedder:
            with pytest.raises(TransientError, match="longer"):
                await embedder._embed(["Why?"], limit=0.1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_the_key_is_in_no_error_and_in_no_log(
    server: ScriptedEmbeddings, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.INFO)
    server.script.extend([Answer(status, {"error": {"message": f"wrong key {KEY}"}})] * 3)

    async with remote(server) as embedder:
        with pytest.raises((EmbedderUnavailable, TransientError)) as raised:
            await embedder.query("Why?")

    assert KEY not in "".join(traceback.format_exception(raised.value))
    assert KEY not in caplog.text


async def test_names_differ_with_what_changes_the_vectors_of_passages(server: ScriptedEmbeddings) -> None:
    variants: list[dict[str, Any]] = [{}, {"dimensions": 4}, {"passage_prefix": "a"}, {"passage_prefix": "b"}]
    names = []

    for variant in variants:
        async with remote(server, **variant) as embedder:
            names.append(embedder.name)

    assert len(set(names)) == len(variants)


async def test_a_query_prefix_leaves_the_name_as_it_is(server: ScriptedEmbeddings) -> None:
    async with remote(server) as plain, remote(server, query_prefix="query: ") as prefixed:
        assert plain.name == prefixed.name
