"""The answers of the stream benchmark, which writer and readers each know by number."""

import time
from uuid import NAMESPACE_OID, UUID, uuid5

USER = "bench"
# The answer that is replayed, after the numbers of all that are live.
REPLAYED_DELTAS = 500


def question_id(number: int) -> UUID:
    """The id of an answer."""
    return uuid5(NAMESPACE_OID, f"stream {number}")


def delta_text(answer: int, delta: int) -> str:
    """A delta that says whose it is, which, and when it was written, in nanoseconds of the system's monotonic clock."""
    return f"{answer} {delta} {time.monotonic_ns()} some words "
