"""A stop interrupts what runs at that moment, and nothing else."""

import asyncio

import pytest

from generator.stopping import Stopped, Stopping


async def test_b07_a_stop_interrupts_the_block_at_once() -> None:
    stopping = Stopping()
    asyncio.get_running_loop().call_soon(stopping.set)

    with pytest.raises(Stopped):
        async with stopping.interrupting(60):
            await asyncio.Event().wait()

    assert stopping.is_set


async def test_b07_a_stop_from_before_lets_no_block_begin() -> None:
    stopping, began = Stopping(), False
    stopping.set()

    with pytest.raises(Stopped):
        async with stopping.interrupting():
            began = True

    assert not began


async def test_a_time_limit_is_told_from_a_stop() -> None:
    stopping = Stopping()

    with pytest.raises(TimeoutError):
        async with stopping.interrupting(0.01):
            await asyncio.Event().wait()

    assert not stopping.is_set


async def test_a_stop_after_the_block_interrupts_nothing() -> None:
    stopping = Stopping()
    async with stopping.interrupting(60):
        pass

    stopping.set()
    await asyncio.sleep(0)

    assert stopping.is_set


async def test_a_second_stop_changes_nothing() -> None:
    stopping, loop = Stopping(), asyncio.get_running_loop()
    loop.call_soon(stopping.set)
    loop.call_soon(stopping.set)

    with pytest.raises(Stopped):
        async with stopping.interrupting():
            await asyncio.Event().wait()
