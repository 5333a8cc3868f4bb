"""Providers of language models without a bucket: the settings of one that is complete, and one that always serves."""

import asyncio
from typing import Any

from citewire.contracts.provenance import Usage
from citewire.contracts.providers import Provider, Purpose
from citewire.runtime.model.client import ModelClient
from citewire.runtime.model.requests import CallReport, ModelRequest
from citewire.runtime.providers import Providers


def provider(**fields: Any) -> Provider:
    """A complete provider, enabled for all purposes; its sealed key is none that could be opened."""
    complete = {
        "name": "main",
        "address": "http://127.0.0.1:9/v1",
        "model": "scripted",
        "sealed_key": "sealed",
        "use_for_ask": True,
        "use_for_rewrite": True,
        "use_for_contextual": True,
        "enabled": True,
    }
    return Provider(**(complete | fields))


class FixedProviders(Providers):
    """One client, for the purposes that its provider is switched on for; None: no model at all."""

    def __init__(self, client: ModelClient | None = None) -> None:
        self._client = client

    def for_purpose(self, purpose: Purpose) -> ModelClient | None:
        return self._client if self._client is not None and self._client.provider.serves(purpose) else None

    def entry(self, purpose: Purpose) -> Provider | None:
        client = self.for_purpose(purpose)
        return None if client is None else client.provider


class SayingClient(ModelClient):
    """Says what it is told to, in order, and keeps what it was asked; an exception is raised instead.

    What is said last is said again and again. Without anything to say it is silent for ever.
    """

    def __init__(self, *says: str | Exception, **settings: Any) -> None:
        self.provider = provider(**settings)
        self.says = says
        self.asked: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, report: CallReport) -> str:
        self.asked.append(request)
        if not self.says:
            await asyncio.Event().wait()
        report.usage = Usage(input_tokens=100, output_tokens=10, requests=1)
        said = self.says[min(len(self.asked), len(self.says)) - 1]
        if isinstance(said, Exception):
            raise said
        return said
