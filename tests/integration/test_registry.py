"""A bucket mirrored in memory, on a real server."""

import asyncio
from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest
from nats.js.api import KeyValueConfig

from citewire.contracts.problems import FieldError
from citewire.runtime.bus import Bus
from citewire.runtime.registry import watch


@pytest.fixture
async def bucket(bus: Bus) -> AsyncGenerator[str]:
    """An empty bucket of the test's own."""
    name = f"test-{uuid4().hex}"
    await bus.js.create_key_value(KeyValueConfig(bucket=name, history=1))
    yield name
    await bus.js.delete_key_value(name)


def entry(text: str) -> FieldError:
    return FieldError(field=text, message="")


async def test_an_empty_bucket_is_complete_at_once(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as registry:
        assert dict(registry.entries) == {}


async def test_all_entries_are_there_when_the_block_begins(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as registry:
        for number in range(50):
            await registry.put(str(number), entry(str(number)))
        await registry.remove("0")

    async with watch(bus, bucket, FieldError) as registry:
        assert dict(registry.entries) == {str(number): entry(str(number)) for number in range(1, 50)}


async def test_a_change_shows_in_every_mirror(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as one, watch(bus, bucket, FieldError) as other:
        await one.put("a", entry("first"))
        await other.wait_for("a", present=True)
        await one.put("a", entry("second"))
        await one.put("b", entry("last"))
        await other.wait_for("b", present=True)

        assert other.entries["a"] == entry("second")


async def test_a_mirror_is_waited_for_until_it_shows_what_is_looked_for(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as one, watch(bus, bucket, FieldError) as other:
        waiting = asyncio.create_task(other.wait_until(lambda entries: entries.get("a") == entry("second")))
        await one.put("a", entry("first"))
        await one.put("a", entry("second"))

        await waiting

        assert other.entries["a"] == entry("second")


async def test_a_removed_entry_leaves_every_mirror(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as one, watch(bus, bucket, FieldError) as other:
        await one.put("a", entry("x"))
        await other.wait_for("a", present=True)

        await one.remove("a")
        await other.wait_for("a", present=False)

        assert "a" not in other.entries


async def test_a_removed_entry_can_come_back(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as registry:
        await registry.put("a", entry("x"))
        await registry.remove("a")
        await registry.put("a", entry("y"))
        await registry.wait_for("a", present=True)

        assert await registry.read("a") == entry("y")


async def test_reading_goes_past_the_mirror(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as registry:
        await (await bus.js.key_value(bucket)).put("a", entry("x").model_dump_json().encode())

        assert await registry.read("a") == entry("x")
        assert await registry.read("nothing") is None


async def test_reading_a_removed_entry_finds_nothing(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as registry:
        await registry.put("a", entry("x"))
        await registry.remove("a")

        assert await registry.read("a") is None


async def test_an_unreadable_entry_hides_no_other(bus: Bus, bucket: str) -> None:
    await (await bus.js.key_value(bucket)).put("bad", b"{bad json")

    async with watch(bus, bucket, FieldError) as registry:
        await registry.put("good", entry("x"))
        await registry.wait_for("good", present=True)

        assert dict(registry.entries) == {"good": entry("x")}
        assert await registry.read("bad") is None


async def test_waiting_for_what_does_not_come_ends(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as registry:
        with pytest.raises(TimeoutError):
            await registry.wait_for("a", present=True, timeout=0.05)


async def test_many_may_wait_for_the_same_entry(bus: Bus, bucket: str) -> None:
    async with watch(bus, bucket, FieldError) as registry:
        waiting = [asyncio.create_task(registry.wait_for("a", present=True, timeout=10)) for _ in range(10)]
        await registry.put("a", entry("x"))

        await asyncio.gather(*waiting)

        assert registry.entries["a"] == entry("x")
