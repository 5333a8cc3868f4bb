"""Waiting for a condition in tests instead of for a time."""

import asyncio
from collections.abc import Awaitable, Callable

PAUSE = 0.005


async def until(holds: Callable[[], bool], seconds: float = 10) -> None:
    """Return once something in this process holds; raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(PAUSE)


async def until_found(look: Callable[[], Awaitable[bool]], seconds: float = 10) -> None:
    """Return once something on a server holds; raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not await look():
            await asyncio.sleep(PAUSE)
