"""Rerankers: a scripted server behind HTTP, and a tiny cross-encoder that is made here."""

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper
from pydantic import TypeAdapter, ValidationError
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from citewire.runtime.errors import TransientError
from retriever.reranking.reranker import Reranker, RerankerUnavailable
from retriever.reranking.rerankers import open_rerankers
from retriever.reranking.scale import logistic, probabilities
from retriever.reranking.settings import RerankerSettings

SETTINGS = TypeAdapter(dict[str, RerankerSettings])
KEY = "the-secret-key"
# What a word adds to the logit of the tiny model; padding would show if the mask did not take it out.
WEIGHTS = {"[PAD]": 50.0, "[UNK]": 0.0, "good": 2.0, "bad": -3.0, "bit": 0.01}
Reply = tuple[int, bytes]


@dataclass
class ScriptedServer:
    """Answers each request on loopback by `script`, which may return None to never answer."""

    script: Callable[[dict[str, Any]], Reply | None]
    port: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v2/rerank"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                self.heads.append(head)
                self.bodies.append(body)
                await self.answer(body, reader, writer)

    async def answer(self, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply = self.script(body)
        if reply is None:
            await reader.read()
            return
        status, content = reply
        writer.write(f"HTTP/1.1 {status} -\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
        await writer.drain()


@contextlib.asynccontextmanager
async def endpoint(
    script: Callable[[dict[str, Any]], Reply | None], seconds: float = 10
) -> AsyncGenerator[tuple[Reranker, ScriptedServer]]:
    scripted = ScriptedServer(script)
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.port = server.sockets[0].getsockname()[1]
    settings = {"kind": "http", "url": scripted.url, "model": "m", "api_key": KEY, "timeout": seconds}
    async with server, open_rerankers(SETTINGS.validate_python({"team": settings})) as rerankers:
        yield rerankers.get("team"), scripted


def results(*pairs: tuple[Any, Any]) -> Callable[[dict[str, Any]], Reply]:
    found = [{"index": index, "relevance_score": score, "document": {"text": "…"}} for index, score in pairs]
    return lambda _: (200, json.dumps({"id": "1", "results": found, "meta": {}}).encode())


def counting(body: dict[str, Any]) -> Reply:
    """Scores as the tiny model gives them, best first as servers do."""
    logits = [2.0 * text.count("good") - 3.0 * text.count("bad") for text in body["documents"]]
    ranked = sorted(enumerate(logits), key=lambda pair: -pair[1])
    return results(*ranked)(body)


def write_tokenizer(folder: Path) -> None:
    vocabulary = {word: number for number, word in enumerate(WEIGHTS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A:0 $B:1", special_tokens=[])
    tokenizer.save(str(folder / "tokenizer.json"))


def write_model(folder: Path, columns: int = 1, inputs: tuple[str, ...] = ("input_ids", "attention_mask")) -> None:
    """A model that adds up its words' weights; a second column holds them, and the first then is 0."""
    weights = [value for weight in WEIGHTS.values() for value in [0.0] * (columns - 1) + [weight]]
    table = helper.make_tensor("table", TensorProto.FLOAT, [len(WEIGHTS), columns], weights)
    axis = helper.make_tensor("axis", TensorProto.INT64, [1], [1])
    last = helper.make_tensor("last", TensorProto.INT64, [1], [2])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Cast", [inputs[-1]], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["masks"]),
        helper.make_node("Mul", ["words", "masks"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "axis"], ["logits"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", columns])],
        [table, axis, last],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.save(model, folder / "model.onnx")


@contextlib.asynccontextmanager
async def local(folder: Path) -> AsyncGenerator[Reranker]:
    settings = {"own": {"kind": "onnx", "folder": str(folder)}}
    async with open_rerankers(SETTINGS.validate_python(settings)) as rerankers:
        yield rerankers.get("own")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tokenizer(tmp_path)
    write_model(tmp_path)
    return tmp_path


@pytest.fixture(params=["http", "onnx"])
async def reranker(request: pytest.FixtureRequest, folder: Path) -> AsyncGenerator[Reranker]:
    if request.param == "onnx":
        async with local(folder) as reranker:
            yield reranker
    else:
        async with endpoint(counting) as (reranker, _):
            yield reranker


async def test_scores_stand_in_the_order_of_the_texts(reranker: Reranker) -> None:
    scores = await reranker.scores("which", ["bad", "good good", "good", "neither"])

    assert scores == pytest.approx([logistic(-3), logistic(4), logistic(2), 0.5], abs=1e-6)


async def test_many_texts_of_all_lengths_keep_their_order(reranker: Reranker) -> None:
    texts = ["good " * (place % 7) + "bad " * (place % 5) for place in range(50)]

    scores = await reranker.scores("which", texts)

    expected = [logistic(2.0 * (place % 7) - 3.0 * (place % 5)) for place in range(50)]
    assert scores == pytest.approx(expected, abs=1e-6)


async def test_no_texts_have_no_scores(reranker: Reranker) -> None:
    assert await reranker.scores("which", []) == []


async def test_strange_text_is_scored_like_any_other(reranker: Reranker) -> None:
    texts = ["good \x00 \ud800", "", "好的 🙂", "مرحبا", "good" + " x" * 100_000]

    scores = await reranker.scores("\udfff\x00 [PAD] <s>", texts)

    assert len(scores) == 5
    assert all(0 <= score <= 1 for score in scores)


async def test_a_server_is_asked_in_the_common_form() -> None:
    async with endpoint(counting) as (reranker, server):
        await reranker.scores("which", ["good", "bad"])

    assert server.bodies == [{"model": "m", "query": "which", "documents": ["good", "bad"], "top_n": 2}]
    assert server.heads[0].startswith("post /v2/rerank ")
    assert f"authorization: bearer {KEY}" in server.heads[0]


async def test_requests_use_one_connection_after_another() -> None:
    async with endpoint(counting) as (reranker, server):
        await reranker.scores("which", ["good"])
        await reranker.scores("which", ["good"])

    assert server.connections == 1


async def test_a_servers_scores_from_0_to_1_stay_as_they_are() -> None:
    async with endpoint(results((1, 0.9), (0, 0.25))) as (reranker, _):
        assert await reranker.scores("which", ["a", "b"]) == [0.25, 0.9]


async def test_a_servers_scores_go_through_the_logistic_together() -> None:
    async with endpoint(results((0, 7.5), (1, 0.5))) as (reranker, _):
        assert await reranker.scores("which", ["a", "b"]) == [logistic(7.5), logistic(0.5)]


async def test_a_text_that_a_server_leaves_out_has_0() -> None:
    async with endpoint(results((2, 3.0))) as (reranker, _):
        assert await reranker.scores("which", ["a", "b", "c"]) == [0.0, 0.0, logistic(3.0)]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_a_status_that_may_pass_is_a_transient_error(status: int) -> None:
    async with endpoint(lambda _: (status, KEY.encode())) as (reranker, _):
        with pytest.raises(TransientError, match=f"status {status}") as caught:
            await reranker.scores("which", ["a"])

    assert KEY not in str(caught.value)


@pytest.mark.parametrize("status", [302, 400, 401, 404, 422])
async def test_a_status_that_stays_makes_the_reranker_unavailable(status: int) -> None:
    async with endpoint(lambda _: (status, KEY.encode())) as (reranker, _):
        with pytest.raises(RerankerUnavailable, match=f"status {status}") as caught:
            await reranker.scores("which", ["a"])

    assert KEY not in str(caught.value)


async def test_a_server_that_never_answers_is_given_up() -> None:
    async with endpoint(lambda _: None, seconds=0.1) as (reranker, _):
        with pytest.raises(TransientError, match=r"did not answer in 0\.1 s"):
            await reranker.scores("which", ["a"])


async def test_a_server_that_is_away_is_a_transient_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    settings = SETTINGS.validate_python({"team": {"kind": "http", "url": f"http://127.0.0.1:{port}"}})

    async with open_rerankers(settings) as rerankers:
        with pytest.raises(TransientError, match="can't be reached"):
            await rerankers.get("team").scores("which", ["a"])


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"[]", b"{}", b'{"results": 3}', b'{"results": [{"index": 0}]}', b"\xff\xfe"]
)
async def test_an_answer_in_another_form_makes_the_reranker_unavailable(content: bytes) -> None:
    async with endpoint(lambda _: (200, content)) as (reranker, _):
        with pytest.raises(RerankerUnavailable, match="not in the common form"):
            await reranker.scores("which", ["a"])


@pytest.mark.parametrize("pair", [(0, None), (0, float("nan")), (0, float("inf")), (-1, 0.5), ("a", 0.5), (0.5, 0.5)])
async def test_a_result_of_wrong_type_makes_the_reranker_unavailable(pair: tuple[Any, Any]) -> None:
    async with endpoint(results(pair)) as (reranker, _):
        with pytest.raises(RerankerUnavailable, match="not in the common form"):
            await reranker.scores("which", ["a"])


@pytest.mark.parametrize("pairs", [[(2, 0.5)], [(0, 0.5), (0, 0.6)]])
async def test_wrong_indices_make_the_reranker_unavailable(pairs: list[tuple[int, float]]) -> None:
    async with endpoint(results(*pairs)) as (reranker, _):
        with pytest.raises(RerankerUnavailable, match="not given"):
            await reranker.scores("which", ["a", "b"])


async def test_a_model_with_two_classes_gives_the_seconds_probability(folder: Path) -> None:
    write_model(folder, columns=2)

    async with local(folder) as reranker:
        assert await reranker.scores("which", ["good", "bad"]) == pytest.approx([logistic(2), logistic(-3)])


async def test_a_model_is_told_which_tokens_are_the_text(folder: Path) -> None:
    write_model(folder, inputs=("input_ids", "token_type_ids"))

    async with local(folder) as reranker:
        assert await reranker.scores("bad", ["good"]) == pytest.approx([logistic(2)])


async def test_a_model_reads_512_tokens(folder: Path) -> None:
    async with local(folder) as reranker:
        assert await reranker.scores("bit", ["bit " * 2000]) == pytest.approx([logistic(5.12)], abs=1e-4)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
async def test_a_folder_without_a_file_makes_the_reranker_unavailable(folder: Path, missing: str) -> None:
    (folder / missing).unlink()

    async with local(folder) as reranker:
        with pytest.raises(RerankerUnavailable, match=f"no {missing}"):
            await reranker.scores("which", ["a"])


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
async def test_a_broken_file_makes_the_reranker_unavailable_until_it_is_replaced(folder: Path, broken: str) -> None:
    good = (folder / broken).read_bytes()
    (folder / broken).write_bytes(b"no such thing")

    async with local(folder) as reranker:
        with pytest.raises(RerankerUnavailable, match=f"{broken} can't be read"):
            await reranker.scores("which", ["good"])
        (folder / broken).write_bytes(good)

        assert await reranker.scores("which", ["good"]) == pytest.approx([logistic(2)])


async def test_a_model_of_another_kind_makes_the_reranker_unavailable(folder: Path) -> None:
    write_model(folder, columns=3)

    async with local(folder) as reranker:
        with pytest.raises(RerankerUnavailable, match="one or two numbers per text"):
            await reranker.scores("which", ["a"])


async def test_a_model_with_unknown_inputs_makes_the_reranker_unavailable(folder: Path) -> None:
    write_model(folder, inputs=("input_ids", "pixels"))

    async with local(folder) as reranker:
        with pytest.raises(RerankerUnavailable, match="pixels"):
            await reranker.scores("which", ["a"])


async def test_without_its_packages_a_local_model_is_unavailable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "retriever.reranking.cross_encoder", raising=False)

    async with local(folder) as reranker:
        with pytest.raises(RerankerUnavailable, match="not installed: onnxruntime"):
            await reranker.scores("which", ["a"])


async def test_a_name_that_is_not_configured_is_unavailable() -> None:
    async with open_rerankers({}) as rerankers:
        with pytest.raises(RerankerUnavailable, match="no reranker is called 'team'"):
            rerankers.get("team")


def test_settings_do_not_show_the_key() -> None:
    settings = SETTINGS.validate_json(
        json.dumps({"team": {"kind": "http", "url": "https://rerank.example/v1/rerank", "api_key": KEY}})
    )

    assert KEY not in repr(settings)


@pytest.mark.parametrize("given", [{}, {"kind": "other"}, {"kind": "http"}, {"kind": "onnx", "folder": "f", "url": ""}])
def test_settings_of_no_kind_are_an_error(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        SETTINGS.validate_python({"team": given})


def test_the_logistic_of_huge_logits_does_not_overflow() -> None:
    assert probabilities([-1e308, 0.0, 1e308]) == [0.0, 0.5, 1.0]
