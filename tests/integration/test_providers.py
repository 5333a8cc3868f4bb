"""Providers of models as services hold them: watched on a real bucket, asked over real HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
from cryptography.fernet import Fernet
from structlog.testing import capture_logs

from citewire.contracts.providers import Provider, Purpose
from citewire.runtime import providers as providers_module
from citewire.runtime.bus import Bus
from citewire.runtime.model.requests import CallReport, ModelMessage, ModelRequest
from citewire.runtime.providers import Providers, open_providers
from citewire.runtime.sealing import Sealer
from model_stage import provider
from scripted_model import ScriptedModel, pieces
from waiting import until

REQUEST = ModelRequest("large", "Be brief.", (ModelMessage("user", "Why?"),), max_output_tokens=100)


@pytest.fixture(autouse=True)
def sealer(monkeypatch: pytest.MonkeyPatch) -> Sealer:
    master_key = Fernet.generate_key().decode()
    monkeypatch.setenv("CITEWIRE_MASTER_KEY", master_key)
    return Sealer(master_key)


@pytest.fixture
async def here(bus: Bus) -> AsyncGenerator[Providers]:
    """What an administrator's gateway holds."""
    async with open_providers(bus) as providers:
        yield providers


@pytest.fixture
async def there(here: Providers, bus: Bus) -> AsyncGenerator[Providers]:
    """What another process holds."""
    async with open_providers(bus) as providers:
        yield providers


@pytest.fixture
async def server() -> AsyncGenerator[ScriptedModel]:
    async with ScriptedModel() as server:
        yield server


def sealed(sealer: Sealer, server: ScriptedModel, **fields: Any) -> Provider:
    entry = provider(address=server.url, **fields)
    return entry.model_copy(update={"sealed_key": sealer.seal(server.key, entry.name, entry.origin)})


async def test_a_change_in_one_process_counts_in_another_within_a_second(
    here: Providers, there: Providers, sealer: Sealer, server: ScriptedModel
) -> None:
    entry = sealed(sealer, server)

    await here.registry.put("main", entry)
    await until(lambda: there.entry(Purpose.ASK) == entry, seconds=1)
    await here.registry.put("main", changed := entry.model_copy(update={"use_for_ask": False}))
    await until(lambda: there.entry(Purpose.ASK) is None, seconds=1)

    assert there.entry(Purpose.REWRITE) == changed


async def test_a_running_call_goes_on_while_the_next_goes_elsewhere(
    here: Providers, there: Providers, sealer: Sealer, server: ScriptedModel
) -> None:
    server.play(pieces("Be", "cause", pace=0.3), pieces("Else", "where"))
    await here.registry.put("main", sealed(sealer, server))
    await until(lambda: there.entry(Purpose.ASK) is not None)
    running = there.for_purpose(Purpose.ASK)
    assert running is not None
    stream = running.stream(REQUEST, CallReport())
    begun = await anext(stream)

    await here.registry.put("main", sealed(sealer, server, model="small"))
    await until(lambda: there.entry(Purpose.ASK) != running.provider)
    changed = there.for_purpose(Purpose.ASK)
    assert changed is not None
    other = await changed.complete(replace(REQUEST, model=changed.provider.model), CallReport())
    rest = "".join([piece async for piece in stream])

    assert (begun + rest, other) == ("Because", "Elsewhere")
    assert [request.body["model"] for request in server.requests] == ["large", "small"]


async def test_the_client_of_a_removed_provider_is_closed_without_a_further_question(
    here: Providers, sealer: Sealer, server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers_module, "LATE_START", 0.0)
    server.play(pieces("Because"))
    await here.registry.put("main", sealed(sealer, server, total_timeout=0.2))
    await until(lambda: here.entry(Purpose.ASK) is not None)
    client = here.for_purpose(Purpose.ASK)
    assert client is not None
    await client.complete(REQUEST, CallReport())

    await here.registry.remove("main")
    await until(lambda: server.open_connections == 0)

    assert server.connections_ever == 1


async def test_a_client_is_open_before_the_first_question(
    here: Providers, sealer: Sealer, server: ScriptedModel
) -> None:
    await here.registry.put("main", entry := sealed(sealer, server))

    await until(lambda: "main" in here._slots and here._slots["main"].client is not None)

    assert here.for_purpose(Purpose.ASK) is await here.opened(entry)
    assert server.connections_ever == 0


async def test_a_process_that_will_not_ask_opens_no_client(bus: Bus, here: Providers, sealer: Sealer) -> None:
    entry = provider()
    entry = entry.model_copy(update={"sealed_key": sealer.seal("key", "main", entry.origin)})

    async with open_providers(bus, purposes=()) as watching:
        await here.registry.put("main", entry)
        await until(lambda: "main" in here._slots and here._slots["main"].client is not None)
        await watching.registry.wait_for("main", present=True)

        assert watching.entry(Purpose.ASK) == entry
        assert watching._slots["main"].client is None


async def test_two_who_open_a_client_at_once_get_the_same(
    bus: Bus, here: Providers, sealer: Sealer, server: ScriptedModel
) -> None:
    entry = sealed(sealer, server)

    async with open_providers(bus, purposes=()) as providers:
        first, second = await asyncio.gather(providers.opened(entry), providers.opened(entry))

    assert first is second


@pytest.mark.parametrize("incomplete", [{"enabled": False}, {"model": ""}, {"sealed_key": ""}, {"sealed_key": "wrong"}])
async def test_h08_what_is_not_complete_and_enabled_is_never_called(
    here: Providers, sealer: Sealer, server: ScriptedModel, incomplete: dict[str, Any]
) -> None:
    await here.registry.put("main", sealed(sealer, server).model_copy(update=incomplete))
    await here.registry.wait_for("main", present=True)

    assert [here.for_purpose(purpose) for purpose in Purpose] == [None] * 3
    assert server.connections_ever == 0


async def test_a_malformed_master_key_is_said_at_the_start_without_its_value(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWIRE_MASTER_KEY", "half-a-master-key")

    with capture_logs() as entries:
        async with open_providers(bus):
            pass

    assert "CITEWIRE_MASTER_KEY" in str(entries)
    assert "half-a-master-key" not in str(entries)
