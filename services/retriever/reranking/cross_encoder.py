"""A cross-encoder in ONNX form on this machine's CPU. Every call blocks."""

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # it ships no types
from numpy.typing import NDArray
from tokenizers import Tokenizer

from citewire.text.normalise import clean
from retriever.reranking.reranker import RerankerUnavailable
from retriever.reranking.scale import logistic

# Query and text together, as these models are trained; the longer of the two is cut first.
MAX_TOKENS: Final = 512
# More characters than 512 tokens have in any language: reading the rest would only take time.
_MAX_CHARACTERS: Final = 8000
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_PADDING: Final = ("[PAD]", "<pad>")


class CrossEncoder:
    """The model of a folder with `model.onnx` and `tokenizer.json`; raises RerankerUnavailable without a usable one."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = _open_tokenizer(folder / "tokenizer.json")
        self._session = _open_session(folder / "model.onnx")
        self._inputs = [value.name for value in self._session.get_inputs()]
        if unknown := set(self._inputs) - _INPUTS:
            raise RerankerUnavailable(f"model.onnx wants inputs that are not known: {', '.join(sorted(unknown))}")

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The relevance of each text in [0, 1], all in one batch: the logistic of its logit, or softmax of two.

        Raises RerankerUnavailable when the model is none that gives such logits.
        """
        query = _prepared(query)
        with _translated("the model can't be run"):
            encodings = self._tokenizer.encode_batch([(query, _prepared(text)) for text in texts])
            values = {
                "input_ids": [encoding.ids for encoding in encodings],
                "attention_mask": [encoding.attention_mask for encoding in encodings],
                "token_type_ids": [encoding.type_ids for encoding in encodings],
            }
            feeds = {name: np.array(values[name], dtype=np.int64) for name in self._inputs}
            output = self._session.run([self._session.get_outputs()[0].name], feeds)[0]
        return [logistic(logit) for logit in _logits(np.asarray(output, dtype=np.float64), len(texts))]


def _prepared(text: str) -> str:
    return clean(text[:_MAX_CHARACTERS])


def _logits(output: NDArray[np.float64], texts: int) -> list[float]:
    """One number per text; of two classes the second means relevant, and softmax is the logistic of the difference."""
    rows = output.reshape(texts, -1) if output.size in (texts, 2 * texts) else None
    if rows is None or not np.isfinite(rows).all():
        raise RerankerUnavailable(f"model.onnx gives no one or two numbers per text, but {output.shape}")
    logits: list[float] = (rows[:, -1] - rows[:, 0] if rows.shape[1] > 1 else rows[:, 0]).tolist()
    return logits


def _open_tokenizer(path: Path) -> Tokenizer:
    _require(path)
    with _translated("tokenizer.json can't be read"):
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.enable_truncation(MAX_TOKENS)
        token, number = _padding(tokenizer)
        tokenizer.enable_padding(pad_id=number, pad_token=token)
    return tokenizer


def _padding(tokenizer: Tokenizer) -> tuple[str, int]:
    """The token that fills up a batch; which one hardly matters, since the attention mask leaves it out."""
    known = [(token, tokenizer.token_to_id(token)) for token in _PADDING]
    return next(((token, number) for token, number in known if number is not None), (_PADDING[0], 0))


def _open_session(path: Path) -> onnxruntime.InferenceSession:
    _require(path)
    options = onnxruntime.SessionOptions()
    # Threads that wait for work must not keep a core busy that other services need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with _translated("model.onnx can't be read"):
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _require(path: Path) -> None:
    if not path.is_file():
        raise RerankerUnavailable(f"there is no {path.name} in the reranker's folder")


@contextlib.contextmanager
def _translated(reason: str) -> Generator[None]:
    try:
        yield
    except Exception as error:  # both libraries raise classes that have no other parent
        raise RerankerUnavailable(f"{reason}: {str(error)[:200]}") from error
