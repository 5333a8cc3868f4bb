"""Texts to the ids of their pieces: the SentencePiece model of XLM-R (Kudo 2018, "Subword Regularization")."""

import importlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.embedder import EmbedderUnavailable
from retriever.embedding.weights import Vocabulary

# What the model was trained with, its marks for begin and end included.
MOST_TOKENS = 512
# The longest piece has 16 characters: what is behind these can't be among the first 512 tokens of any real text.
_MOST_CHARACTERS = 16 * MOST_TOKENS
# Pieces that no text is cut into.
_MARKS = frozenset({"<s>", "</s>", "<pad>", "<mask>"})


def clean(text: str) -> str:
    """A text that a tokeniser can take, in one line: no NUL, no half of a character, no more than can count."""
    line = " ".join(text.replace("\x00", " ").split())
    return line[:_MOST_CHARACTERS].encode("utf-8", "replace").decode()


class _Processor(Protocol):
    """What is used of SentencePieceProcessor, which ships no types."""

    def encode(self, text: str, /, *, add_bos: bool) -> list[int]: ...

    def eos_id(self) -> int: ...


class Tokens:
    """Turns one text after the other into ids; may be shared by threads."""

    def __init__(self, model: Path) -> None:
        self._processor = _open(model)

    def ids(self, text: str) -> NDArray[np.int64]:
        """At most 512 ids with begin and end; marks such as </s> are nothing but characters in a text."""
        begin = self._processor.encode(clean(text), add_bos=True)[: MOST_TOKENS - 1]
        return np.array([*begin, self._processor.eos_id()], dtype=np.int64)


def _open(model: Path) -> _Processor:
    try:
        sentencepiece: Any = importlib.import_module("sentencepiece")  # not to be had on every platform
    except ImportError as error:
        raise EmbedderUnavailable("the package sentencepiece is not installed here") from error
    processor: _Processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return processor


def token_model(vocabulary: Vocabulary) -> bytes:
    """The vocabulary as a file of SentencePiece, with XLM-R's normalisation (NFKC, few control characters)."""
    sentencepiece: Any = importlib.import_module("sentencepiece")
    messages: Any = importlib.import_module("sentencepiece.sentencepiece_model_pb2")
    normaliser = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc")
    model = messages.ModelProto.FromString(normaliser.serialized_model_proto())
    model.normalizer_spec.add_dummy_prefix = True
    model.normalizer_spec.remove_extra_whitespaces = True
    model.normalizer_spec.escape_whitespaces = True
    model.trainer_spec.model_type = messages.TrainerSpec.UNIGRAM
    model.trainer_spec.bos_id, model.trainer_spec.eos_id = vocabulary.begin, vocabulary.end
    model.trainer_spec.pad_id, model.trainer_spec.unk_id = vocabulary.padding, vocabulary.unknown
    for number, (piece, score) in enumerate(vocabulary.pieces):
        model.pieces.add(piece=piece, score=score)
        if piece in _MARKS:
            model.pieces[number].type = messages.ModelProto.SentencePiece.CONTROL
    model.pieces[vocabulary.unknown].type = messages.ModelProto.SentencePiece.UNKNOWN
    return bytes(model.SerializeToString())
