"""Scores brought to the range from 0 to 1. Pure."""

import math
from collections.abc import Sequence


def logistic(logit: float) -> float:
    """1 / (1 + exp(-logit)), for any finite logit."""
    # The exponent is never above 0, where it could overflow.
    power = math.exp(-abs(logit))
    return 1 / (1 + power) if logit >= 0 else power / (1 + power)


def probabilities(scores: Sequence[float]) -> list[float]:
    """The scores as they are when all lie in [0, 1]; else they are logits, and each goes through the logistic."""
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [logistic(score) for score in scores]
