"""The language models that may be asked now, as their watched settings say, and one open client for each."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from citewire.contracts.providers import Provider, Purpose
from citewire.contracts.streams import PROVIDER_BUCKET
from citewire.runtime.bus import Bus
from citewire.runtime.registry import Registry, watch
from citewire.runtime.sealing import ForeignSealError, MasterKeyError, Sealer
from citewire.runtime.settings import RuntimeSettings

if TYPE_CHECKING:
    from citewire.runtime.model.client import ModelClient

log = structlog.get_logger()

# Seconds that a client stays open for who holds it and has yet to begin a call, beside those that a call may take.
LATE_START = 60.0
# Seconds after which clients are compared with the settings even if nothing was said of a change.
LOOK_AGAIN = 3600.0


@dataclass
class _Slot:
    """A provider as it was last seen, its key in the clear, what it lacks, and its client once it was needed."""

    provider: Provider
    key: str = field(repr=False)
    missing: tuple[str, ...]
    client: "ModelClient | None" = None


class Providers:
    """Which provider is asked for what. Without one that is enabled and complete nothing leaves the machine."""

    def __init__(self, registry: Registry[Provider], sealer: Sealer) -> None:
        self.registry = registry
        self.sealer = sealer
        self._slots: dict[str, _Slot] = {}
        self._retiring: dict[asyncio.Task[None], ModelClient] = {}

    def for_purpose(self, purpose: Purpose) -> "ModelClient | None":
        """The client of the provider that serves a purpose now; ask anew for each call, and never close it."""
        entry = self.entry(purpose)
        return None if entry is None else self.client_of(entry)

    def entry(self, purpose: Purpose) -> Provider | None:
        """The settings of the provider that serves a purpose now: the first by name that can."""
        for _, provider in sorted(self.registry.entries.items()):
            if provider.serves(purpose) and self.is_usable(provider):
                return provider
        return None

    def is_usable(self, provider: Provider) -> bool:
        """Whether a provider may be called at all: enabled, and nothing is missing."""
        return provider.enabled and not self.missing(provider)

    def missing(self, provider: Provider) -> tuple[str, ...]:
        """What a provider lacks: names of fields, and `master_key` where its key can't be opened."""
        return self._slot(provider).missing

    def client_of(self, provider: Provider) -> "ModelClient":
        """The client of a provider that is usable."""
        slot = self._slot(provider)
        if slot.client is None:
            slot.client = _open(provider, slot.key)
        return slot.client

    async def opened(self, provider: Provider) -> "ModelClient":
        """The same, where other work of the loop must not wait until openai and certificates are loaded."""
        slot = self._slot(provider)
        if slot.client is None:
            client = await asyncio.to_thread(_open, provider, slot.key)
            if slot.client is None:
                slot.client = client
                if self._slots.get(provider.name) is not slot:
                    self._close_later(slot)
            else:
                await client.aclose()
        return slot.client

    async def follow(self, purposes: Collection[Purpose]) -> None:
        """Open clients for these purposes before they are asked for, and retire those of the settings before."""
        while True:
            with contextlib.suppress(TimeoutError):
                await self.registry.wait_until(
                    lambda _: bool(self._outdated() or self._unopened(purposes)), timeout=LOOK_AGAIN
                )
            for name in self._outdated():
                self._retire(name)
            for provider in self._unopened(purposes):
                await self.opened(provider)

    async def aclose(self) -> None:
        """Close all clients, whatever they do."""
        clients = [slot.client for slot in self._slots.values() if slot.client is not None]
        clients += self._retiring.values()
        for task in self._retiring:
            task.cancel()
        await asyncio.gather(*self._retiring, *(client.aclose() for client in clients), return_exceptions=True)
        self._slots.clear()

    def _slot(self, provider: Provider) -> _Slot:
        slot = self._slots.get(provider.name)
        if slot is None or slot.provider != provider:
            self._retire(provider.name)
            slot = self._slots[provider.name] = _slot_of(provider, self.sealer)
        return slot

    def _outdated(self) -> list[str]:
        entries = self.registry.entries
        return [name for name, slot in self._slots.items() if entries.get(name) != slot.provider]

    def _unopened(self, purposes: Collection[Purpose]) -> list[Provider]:
        entries = (self.entry(purpose) for purpose in purposes)
        return [entry for entry in entries if entry is not None and self._slot(entry).client is None]

    def _retire(self, name: str) -> None:
        slot = self._slots.pop(name, None)
        if slot is not None:
            self._close_later(slot)

    def _close_later(self, slot: _Slot) -> None:
        if slot.client is not None:
            limit = slot.provider.total_timeout.total_seconds() + LATE_START
            task = asyncio.create_task(_close_after(slot.client, limit))
            self._retiring[task] = slot.client
            task.add_done_callback(self._retiring.pop)


def _slot_of(provider: Provider, sealer: Sealer) -> _Slot:
    missing, key = list(provider.missing()), ""
    if provider.sealed_key or not sealer.is_ready:
        try:
            key = sealer.open(provider.sealed_key, provider.name, provider.origin)
        except MasterKeyError:
            missing.append("master_key")
        except ForeignSealError:
            missing.append("key")
    return _Slot(provider, key, tuple(missing))


def _open(provider: Provider, key: str) -> "ModelClient":
    # openai takes half a second and 50 MB: only where a model is really asked.
    from citewire.runtime.model.client import ModelClient  # noqa: PLC0415

    return ModelClient(provider, key)


async def _close_after(client: "ModelClient", seconds: float) -> None:
    """Close a client when no call that it was handed out for can be running any more."""
    await asyncio.sleep(seconds)
    await client.aclose()


@contextlib.asynccontextmanager
async def open_providers(bus: Bus, purposes: Collection[Purpose] = tuple(Purpose)) -> AsyncGenerator[Providers]:
    """Watch the settings for the block; a change counts from the next question on.

    `purposes`: those that this process will ask for, whose clients are opened before the first question.
    """
    sealer = Sealer(RuntimeSettings().master_key.get_secret_value())
    if sealer.is_malformed:
        log.warning("CITEWIRE_MASTER_KEY is not 32 bytes in base64: no key of a model provider can be used")
    async with watch(bus, PROVIDER_BUCKET, Provider) as registry:
        providers = Providers(registry, sealer)
        following = asyncio.create_task(providers.follow(purposes))
        try:
            yield providers
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await providers.aclose()
