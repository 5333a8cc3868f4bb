"""Vectors that are drawn instead of embedded, since embedding 100,000 chunks takes an hour.

`LikeText` has the neighbourhoods of real vectors. Compared with those of the bundled embedder for 3,000 chunks of
annual reports and the 83 questions of FinanceBench: the mean cosine to the 1st, 10th and 100th neighbour is, for
chunks, .968, .925, .904 (real: .960, .929, .906), for questions .853, .841, .828 (real: .855, .842, .829). The vector
index goes through 1,350 pages for a question and finds 96 % of its hundred neighbours (real: 1,210 and 96 %). Of
`Random` ones it goes through 2,180 and finds 85 %: in 384 dimensions nothing is near to anything.
"""

import itertools
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.e5 import DIMENSION
from retriever.embedding.embedder import Embedder

Vectors = NDArray[np.float32]

# The length of the mean of all chunks' vectors, and of all questions', and the cosine of the two.
_CHUNKS_MEAN, _QUESTIONS_MEAN, _MEANS_COSINE = 0.934, 0.910, 0.937
# Variances by dimension fall as (rank + shift) ** -power.
_SHIFT, _POWER = 8, 1.1
# What a chunk shares with its document and with its section, as parts of its variance, and how long these are.
_OF_DOCUMENT, _OF_SECTION, _OWN = 0.2, 0.5, 0.3
_DOCUMENT, _SECTION = 200, 10
# What a question shares with a section.
_SUBJECT = 0.1


class Drawn(Protocol):
    """Where vectors come from: always the same ones in the same order."""

    def chunks(self, count: int) -> Vectors:
        """The next [count, 384], of unit length, neighbours in the text one after the other."""

    def question(self) -> Vectors:
        """One [384] to search with, after some chunks were drawn."""


class LikeText:
    """Normal distributions around a mean, with a part for each document and section."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(1)
        variances = (np.arange(DIMENSION) + 1 + _SHIFT) ** -_POWER
        self._deviations = np.sqrt(variances / variances.sum())
        first, second = _unit(self._chance.standard_normal((2, DIMENSION)))
        self._chunks_mean = _CHUNKS_MEAN * first
        across = _unit(second - second @ first * first)
        self._questions_mean = _QUESTIONS_MEAN * (_MEANS_COSINE * first + np.sqrt(1 - _MEANS_COSINE**2) * across)
        self._subjects = np.zeros((1, DIMENSION))

    def chunks(self, count: int) -> Vectors:
        """See Drawn."""
        document = np.repeat(self._noise(count // _DOCUMENT + 1), _DOCUMENT // _SECTION, axis=0)
        sections = count // _SECTION + 1
        self._subjects = _sum((_OF_DOCUMENT, document[:sections]), (_OF_SECTION, self._noise(sections)))
        subjects = np.repeat(self._subjects, _SECTION, axis=0)[:count]
        return self._around(self._chunks_mean, _sum((1, subjects), (_OWN, self._noise(count))))

    def question(self) -> Vectors:
        """See Drawn."""
        subject = self._chance.choice(self._subjects) / np.sqrt(_OF_DOCUMENT + _OF_SECTION)
        return self._around(self._questions_mean, _sum((_SUBJECT, subject), (1 - _SUBJECT, self._noise(1)[0])))

    def _noise(self, count: int) -> NDArray[np.float64]:
        return np.asarray(self._chance.standard_normal((count, DIMENSION)) * self._deviations)

    def _around(self, mean: NDArray[np.float64], noise: NDArray[np.float64]) -> Vectors:
        """The mean of unit vectors tells how much is left for what they differ in."""
        return np.asarray(_unit(mean + np.sqrt(1 - mean @ mean) * noise), dtype=np.float32)


class Random:
    """Every direction as likely as any other: the hardest case."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(1)

    def chunks(self, count: int) -> Vectors:
        """See Drawn."""
        return np.asarray(_unit(self._chance.standard_normal((count, DIMENSION))), dtype=np.float32)

    def question(self) -> Vectors:
        """See Drawn."""
        return np.asarray(self.chunks(1)[0])


class DrawnQuestions:
    """An embedder that embeds a question, for the time that it takes, and gives a vector for it that was drawn before.

    After `count` questions it begins anew.
    """

    def __init__(self, embedder: Embedder, drawn: Drawn, count: int) -> None:
        self._embedder = embedder
        self._questions = itertools.cycle([drawn.question() for _ in range(count)])

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int | None:
        return self._embedder.dimension

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Not drawn."""
        return await self._embedder.passages(texts)

    async def query(self, text: str) -> Vectors:
        """Drawn."""
        await self._embedder.query(text)
        return next(self._questions)


def _sum(*parts: tuple[float, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Independent parts by their share of the variance."""
    return np.asarray(sum(np.sqrt(share) * part for share, part in parts))


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))
