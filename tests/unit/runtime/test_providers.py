"""Which provider is asked for what, and which never is."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from cryptography.fernet import Fernet

from citewire.contracts.providers import Provider, Purpose
from citewire.runtime import providers as providers_module
from citewire.runtime.model.client import ModelClient
from citewire.runtime.providers import Providers
from citewire.runtime.registry import Registry
from citewire.runtime.sealing import Sealer
from citewire.runtime.settings import ROLES
from model_stage import FixedProviders, provider

KEY = "sk-very-secret-0123456789"
SEALER = Sealer(Fernet.generate_key().decode())


class FixedRegistry(Registry[Provider]):
    """Entries without a bucket."""

    def __init__(self, *entries: Provider) -> None:
        self._entries = {entry.name: entry for entry in entries}

    def put_now(self, entry: Provider) -> None:
        self._entries[entry.name] = entry


def sealed(name: str = "main", **fields: Any) -> Provider:
    """A complete provider with a key that opens."""
    entry = provider(name=name, **fields)
    return entry.model_copy(update={"sealed_key": SEALER.seal(KEY, name, entry.origin)})


def holding(*entries: Provider, sealer: Sealer = SEALER) -> Providers:
    return Providers(FixedRegistry(*entries), sealer)


def serving(providers: Providers) -> dict[Purpose, str | None]:
    entries = {purpose: providers.entry(purpose) for purpose in Purpose}
    return {purpose: entry.name if entry else None for purpose, entry in entries.items()}


NOBODY = dict.fromkeys(Purpose)


def test_without_providers_nobody_is_asked() -> None:
    assert serving(holding()) == NOBODY


def test_a_new_provider_is_asked_for_nothing() -> None:
    assert serving(holding(Provider(name="main"))) == NOBODY


@pytest.mark.parametrize("purpose", Purpose)
def test_a_provider_is_asked_for_what_it_is_switched_on_for(purpose: Purpose) -> None:
    switches: dict[str, Any] = {f"use_for_{other}": other is purpose for other in Purpose}

    assert serving(holding(sealed(**switches))) == NOBODY | {purpose: "main"}


def test_the_first_by_name_of_those_that_can_is_asked() -> None:
    providers = holding(sealed("c"), sealed("b"), sealed("a", model=""), sealed("0", enabled=False))

    assert serving(providers) == dict.fromkeys(Purpose, "b")


@pytest.mark.parametrize("field", ["address", "model"])
def test_h08_an_enabled_provider_without_a_field_is_not_asked_and_names_it(field: str) -> None:
    entry = sealed(**{field: ""})
    providers = holding(entry)

    assert [providers.for_purpose(purpose) for purpose in Purpose] == [None, None, None]
    assert providers.missing(entry) == (field,)


def test_h08_an_enabled_provider_without_a_key_is_not_asked_and_names_it() -> None:
    entry = provider(sealed_key="")
    providers = holding(entry)

    assert [providers.for_purpose(purpose) for purpose in Purpose] == [None, None, None]
    assert providers.missing(entry) == ("key",)


@pytest.mark.parametrize("master", ["", "no key", Fernet.generate_key().decode()], ids=["none", "no key", "another"])
def test_h08_with_the_master_key_lost_nobody_is_asked_and_the_settings_say_so(master: str) -> None:
    entry = sealed()
    providers = holding(entry, sealer=Sealer(master))

    assert [providers.for_purpose(purpose) for purpose in Purpose] == [None, None, None]
    assert providers.missing(entry) == ("master_key",)


def test_a_key_that_was_copied_to_another_provider_or_host_is_none() -> None:
    stolen = sealed().sealed_key
    moved, redirected = (
        provider(name="evil", sealed_key=stolen),
        provider(address="https://evil.example/v1", sealed_key=stolen),
    )
    providers = holding(moved, redirected)

    assert serving(providers) == NOBODY
    assert providers.missing(moved) == providers.missing(redirected) == ("key",)


async def test_a_client_lives_as_long_as_its_settings() -> None:
    registry = FixedRegistry(sealed())
    providers = Providers(registry, SEALER)
    first, again = providers.for_purpose(Purpose.ASK), providers.for_purpose(Purpose.REWRITE)

    registry.put_now(changed := sealed(model="other"))
    second = providers.for_purpose(Purpose.ASK)
    await providers.aclose()

    assert first is again
    assert second is not None
    assert (second is first, second.provider) == (False, changed)


async def test_a_client_of_the_settings_before_is_closed_when_its_calls_are_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[ModelClient] = []

    async def close(client: ModelClient) -> None:
        closed.append(client)

    monkeypatch.setattr(ModelClient, "aclose", close)
    monkeypatch.setattr(providers_module, "LATE_START", 0.0)
    registry = FixedRegistry(sealed(total_timeout=0.02))
    providers = Providers(registry, SEALER)
    first = providers.for_purpose(Purpose.ASK)

    registry.put_now(sealed(model="other"))
    providers.for_purpose(Purpose.ASK)
    closed_at_once = list(closed)
    async with asyncio.timeout(5):
        while not closed:
            await asyncio.sleep(0.005)

    assert (closed_at_once, closed) == ([], [first])


async def test_at_the_end_all_clients_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def close(client: ModelClient) -> None:
        closed.append(client.provider.model)

    monkeypatch.setattr(ModelClient, "aclose", close)
    registry = FixedRegistry(sealed(model="old"))
    providers = Providers(registry, SEALER)
    providers.for_purpose(Purpose.ASK)
    registry.put_now(sealed(model="new"))
    providers.for_purpose(Purpose.ASK)

    await providers.aclose()

    assert sorted(closed) == ["new", "old"]


async def test_what_is_held_in_memory_does_not_show_the_key() -> None:
    providers = holding(sealed())
    client = providers.for_purpose(Purpose.ASK)

    shown = f"{vars(providers)!r} {client!r} {providers.entry(Purpose.ASK)!r}"
    await providers.aclose()

    assert "sealed_key" in shown
    assert KEY not in shown


@pytest.mark.parametrize("kind", ["real", "fixed"])
async def test_what_is_switched_off_is_not_asked(kind: str) -> None:
    entry = sealed(use_for_ask=False)
    providers = holding(entry) if kind == "real" else FixedProviders(ModelClient(entry, KEY))

    asked = {purpose: providers.for_purpose(purpose) is not None for purpose in Purpose}

    assert asked == {Purpose.ASK: False, Purpose.REWRITE: True, Purpose.CONTEXTUAL: True}
    assert [providers.entry(purpose) for purpose in Purpose] == [None, entry, entry]


@pytest.mark.parametrize("providers", [holding(), FixedProviders()])
def test_no_model_is_no_client_and_no_entry(providers: Providers) -> None:
    assert [providers.for_purpose(purpose) or providers.entry(purpose) for purpose in Purpose] == [None] * 3


def test_no_role_loads_openai_before_a_model_is_asked() -> None:
    roles = ", ".join(f"{role}.app" for role in ROLES)

    result = subprocess.run(
        [sys.executable, "-c", f"import sys, {roles}; print('openai' in sys.modules)"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.stdout, result.stderr) == ("False\n", "")
