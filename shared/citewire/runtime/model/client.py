"""Asks a provider's model, through one `openai` client for as long as the settings stay as they are.

Importing this module imports openai, which takes half a second and 50 MB: do so where a model is really asked.
"""

import asyncio
import itertools
import random
from collections.abc import AsyncGenerator
from typing import Final

from citewire.contracts.provenance import Usage
from citewire.contracts.providers import Provider
from citewire.runtime.model.connection import connect
from citewire.runtime.model.exchange import Allowance, Exchange
from citewire.runtime.model.failures import ModelFailed
from citewire.runtime.model.requests import CallReport, ModelRequest
from citewire.runtime.model.usage import READ_LESS, add, has_read_less, may_have_read_less
from citewire.runtime.model.wording import sendable, texts_of

# Seconds before the second try, doubled for each other; a person waits.
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 2.0
# Seconds that a provider may ask to wait; who asks for more has failed.
_LONGEST_RETRY_AFTER: Final = 5.0


class ModelClient:
    """A provider's models behind one small interface; any number of calls at once."""

    def __init__(self, provider: Provider, key: str) -> None:
        """Raises ValueError for a key that can be none; nothing is sent yet."""
        self.provider = provider
        self._openai = connect(provider, key)

    async def stream(
        self, request: ModelRequest, report: CallReport, limit: float | None = None
    ) -> AsyncGenerator[str]:
        """The visible text of the answer, piece by piece as the model gives it, without its reasoning.

        `limit`: seconds that all of it may take, where that is less than the provider's `total_timeout`. Raises
        ModelFailed, after the pieces there were. Tries again, within the provider's limits, only while the model has
        said nothing at all. Closing the generator closes the connection at once.
        """
        request = sendable(request)
        total = self.provider.total_timeout.total_seconds()
        time = Allowance(total if limit is None else min(limit, total))
        for number in itertools.count():
            exchange = Exchange(self._openai, self.provider, request, time)
            try:
                while not exchange.is_done:
                    for piece in await exchange.read():
                        yield piece
            finally:
                await exchange.close()
                _account(report, exchange.told.usage)
            await _compare(report, request, exchange.told.usage)
            if exchange.failed is None:
                return
            await self._pause(number, exchange, time)

    async def complete(self, request: ModelRequest, report: CallReport) -> str:
        """The whole text of the answer. Raises ModelFailed."""
        return "".join([piece async for piece in self.stream(request, report)])

    async def aclose(self) -> None:
        """Close all connections; no call may be running."""
        await self._openai.close()

    async def _pause(self, number: int, exchange: Exchange, time: Allowance) -> None:
        """Wait before another try, or raise the failure of the last one."""
        failed = exchange.failed
        if failed is None:
            return
        pause = _pause_for(number, failed)
        has_time = pause < time.left()
        is_allowed = number < self.provider.max_retries and pause <= _LONGEST_RETRY_AFTER
        if exchange.told.tokens or not failed.may_pass or not is_allowed or not has_time:
            # The traceback would be one of openai's insides, with the request in its frames.
            raise failed.with_traceback(None)
        await asyncio.sleep(pause)


def _pause_for(number: int, failed: ModelFailed) -> float:
    """Seconds to wait: as asked for, or longer each time and never the same for all who failed together."""
    if failed.retry_after is not None:
        return failed.retry_after
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * float(1 << number))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it


def _account(report: CallReport, usage: Usage | None) -> None:
    """One more request, with what the provider told of it."""
    report.usage = add(report.usage, (usage or Usage()).model_copy(update={"requests": 1}))


async def _compare(report: CallReport, request: ModelRequest, usage: Usage | None) -> None:
    """Note a provider that seems to have cut the request; counted in a thread, for that can take a while."""
    texts = texts_of(request)
    if usage is None or not usage.input_tokens or not may_have_read_less(texts, usage):
        return
    if await asyncio.to_thread(has_read_less, texts, usage) and READ_LESS not in report.problems:
        report.problems.append(READ_LESS)
