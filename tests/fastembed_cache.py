"""A model of fastembed's list in the form of its cache, with a graph that is small and made up."""

import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

MODEL = "BAAI/bge-small-en-v1.5"
DIMENSION = 384
_REPOSITORY, _FILE = "models--Qdrant--bge-small-en-v1.5-onnx-Q", "model_optimized.onnx"
_CHARACTERS = "abcdefghijklmnopqrstuvwxyz?. "


def make_fastembed_cache(folder: Path) -> None:
    """Fill a folder with what fastembed would have fetched."""
    snapshot = folder / _REPOSITORY / "snapshots" / "0"
    snapshot.mkdir(parents=True)
    (folder / _REPOSITORY / "refs").mkdir()
    (folder / _REPOSITORY / "refs" / "main").write_text("0")
    (snapshot / _FILE).write_bytes(_graph())
    _tokenizer().save(str(snapshot / "tokenizer.json"))
    (snapshot / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    tokenizer_config = {"model_max_length": 512, "pad_token": "[PAD]"}
    (snapshot / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    (snapshot / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]"}))


def _tokenizer() -> Tokenizer:
    words = ["[PAD]", "[UNK]", *_CHARACTERS]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return tokenizer


def _graph() -> bytes:
    """The state of a first token, which the model stands for its text with, is the sum over all tokens."""
    table = np.random.default_rng(0).standard_normal((2 + len(_CHARACTERS), DIMENSION)).astype(np.float32)
    nodes = [
        helper.make_node("Cast", ["attention_mask"], ["weights"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["weights", "last"], ["mask"]),
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Mul", ["words", "mask"], ["states"]),
        helper.make_node("CumSum", ["states", "one"], ["last_hidden_state"], reverse=1),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", DIMENSION])
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array(1), "one"),
        numpy_helper.from_array(np.array([2]), "last"),
    ]
    graph = helper.make_graph(nodes, "made up", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
