"""How long the parts of one search may take."""

import asyncio
from datetime import datetime
from typing import NamedTuple

from citewire.runtime.bus import seconds_left

# Parts of a search's time after which it goes on without the vectors, and without the reranker.
DENSE_SHARE = 0.6
RERANK_SHARE = 0.9


class Times(NamedTuple):
    """When, in the event loop's time, a search goes on without a part; None: never."""

    dense: float | None
    rerank: float | None

    @classmethod
    def until(cls, deadline: datetime | None) -> "Times":
        """Those of a search that nobody waits for after a deadline."""
        if deadline is None:
            return cls(None, None)
        now, left = asyncio.get_running_loop().time(), seconds_left(deadline)
        return cls(now + left * DENSE_SHARE, now + left * RERANK_SHARE)
