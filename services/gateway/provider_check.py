"""Asks a provider's model for one word, to see whether its settings work."""

import asyncio
import time
from typing import TYPE_CHECKING

from citewire.contracts.providers import Provider, ProviderCheck
from citewire.runtime.model.failures import Failure, ModelFailed
from citewire.runtime.model.requests import CallReport, ModelMessage, ModelRequest
from citewire.runtime.providers import Providers

if TYPE_CHECKING:
    from citewire.runtime.model.client import ModelClient

# Seconds; a client of this interface waits little longer.
TIME_LIMIT = 30.0
# Room for what a model may think before the word.
MAX_OUTPUT_TOKENS = 512


async def check_provider(providers: Providers, provider: Provider) -> ProviderCheck:
    """What came of it; without a call where the provider is not usable."""
    if not provider.enabled:
        return _not_asked(f"the model provider {provider.name} is not enabled: nothing is sent to it")
    if missing := providers.missing(provider):
        return _not_asked(f"the model provider {provider.name} can't be used without: {', '.join(missing)}")
    return await _ask(providers, provider)


async def _ask(providers: Providers, provider: Provider) -> ProviderCheck:
    client = await providers.opened(provider)
    report, began = CallReport(), time.monotonic()
    problem = await _problem(client, report)
    elapsed = round((time.monotonic() - began) * 1000)
    return ProviderCheck(ok=problem is None, elapsed_ms=elapsed, problem=problem, usage=report.usage)


async def _problem(client: "ModelClient", report: CallReport) -> str | None:
    try:
        async with asyncio.timeout(TIME_LIMIT):
            await client.complete(_request(client.provider), report)
    except ModelFailed as failed:
        # A model that thinks for longer than this has shown that it can be asked.
        return None if failed.failure is Failure.LENGTH else str(failed)
    except TimeoutError:
        return f"the model provider {client.provider.name} did not answer within {TIME_LIMIT:.0f} s"
    return None


def _request(provider: Provider) -> ModelRequest:
    return ModelRequest(
        model=provider.model,
        instructions="Answer with one short word.",
        messages=(ModelMessage("user", "Are you there?"),),
        max_output_tokens=min(MAX_OUTPUT_TOKENS, provider.max_output_tokens),
        temperature=provider.temperature if provider.sends_temperature else None,
    )


def _not_asked(problem: str) -> ProviderCheck:
    return ProviderCheck(ok=False, elapsed_ms=0, problem=problem)
