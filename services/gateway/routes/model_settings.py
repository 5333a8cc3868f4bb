"""Providers of language models, for administrators."""

import contextlib
from collections.abc import Callable

import structlog
from fastapi import APIRouter

from citewire.contracts.providers import (
    ModelSettings,
    Provider,
    ProviderChanges,
    ProviderCheck,
    ProviderName,
    ProviderView,
)
from citewire.runtime.errors import not_found
from gateway.identity import Caller
from gateway.parts import Parts, TheAdministrator, TheParts
from gateway.provider_check import check_provider
from gateway.provider_settings import changed, changed_fields, replaced, view, view_all

router = APIRouter(prefix="/v1/settings/model", tags=["model settings"])

log = structlog.get_logger()


@router.get("")
async def read_settings(_: TheAdministrator, parts: TheParts) -> ModelSettings:
    """All providers, and which of them is asked for what."""
    return view_all(parts.providers)


@router.put("/providers/{name}")
async def replace_provider(
    name: ProviderName, body: ProviderChanges, caller: TheAdministrator, parts: TheParts
) -> ProviderView:
    """Create or replace a provider: what is left out gets its default.

    A key that is left out stays, unless the address names another host: it was not given for that one.
    """
    sealer = parts.providers.sealer
    return await _save(parts, caller, name, body, lambda before: replaced(name, before, body, sealer))


@router.patch("/providers/{name}")
async def change_provider(
    name: ProviderName, body: ProviderChanges, caller: TheAdministrator, parts: TheParts
) -> ProviderView:
    """Change some settings of a provider: those that are sent. An empty key removes the one that is there."""

    def choose(before: Provider | None) -> Provider:
        return changed(_existing(name, before), body, parts.providers.sealer)

    return await _save(parts, caller, name, body, choose)


@router.delete("/providers/{name}", status_code=204)
async def remove_provider(name: ProviderName, caller: TheAdministrator, parts: TheParts) -> None:
    """Remove a provider; answers that it is writing go on."""

    def choose(before: Provider | None) -> None:
        _existing(name, before)

    registry = parts.providers.registry
    await registry.change(name, choose)
    log.info("model provider removed", provider=name, by=caller.user.user_id)
    # In vain where another administrator has made one of the same name in the meantime.
    with contextlib.suppress(TimeoutError):
        await registry.wait_for(name, present=False)


@router.post("/providers/{name}/check")
async def check(name: ProviderName, _: TheAdministrator, parts: TheParts) -> ProviderCheck:
    """Ask the provider's model for one word; nothing is sent where the provider is not enabled and complete."""
    return await check_provider(parts.providers, _existing(name, parts.providers.registry.entries.get(name)))


async def _save(
    parts: Parts, caller: Caller, name: str, sent: ProviderChanges, choose: Callable[[Provider | None], Provider]
) -> ProviderView:
    """Write what is chosen, and return when it counts in this process."""
    written: list[tuple[Provider | None, Provider]] = []

    def note(before: Provider | None) -> Provider:
        written.append((before, choose(before)))
        return written[-1][1]

    registry = parts.providers.registry
    await registry.change(name, note)
    before, after = written[-1]
    fields = changed_fields(before, after, sent)
    log.info("model provider changed", provider=name, by=caller.user.user_id, fields=fields)
    # In vain where another administrator has removed it in the meantime.
    with contextlib.suppress(TimeoutError):
        await registry.wait_until(lambda entries: name in entries and entries[name].revision >= after.revision)
    return view(parts.providers, after)


def _existing(name: str, provider: Provider | None) -> Provider:
    if provider is None:
        raise not_found(f"model provider: {name}")
    return provider
