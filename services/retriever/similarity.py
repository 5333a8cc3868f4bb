"""How relevant a chunk is, from 0 to 1, by what the legs say of it. Pure."""

import math
from dataclasses import dataclass
from typing import Final

from retriever.index.fusion import Fused


@dataclass(frozen=True)
class Calibration:
    """A logistic regression of relevance on the fused score and on the cosine."""

    intercept: float
    fused: float
    cosine: float


# Placeholder constants until measured.
CALIBRATION: Final = Calibration(-2.0, 5.0, 0.0)


def similarity(fused: Fused) -> float:
    """The similarity that segments are built from."""
    value = CALIBRATION.intercept + CALIBRATION.fused * fused.score
    return 1 / (1 + math.exp(-value))
