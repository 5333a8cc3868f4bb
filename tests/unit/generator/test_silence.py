"""A text that does not go on is ended, one that does is not."""

import asyncio

import pytest

from generator.silence import Silent, limited_silence


async def test_a_text_that_never_begins_is_ended() -> None:
    with pytest.raises(Silent, match=r"no text came within 0\.02 s"):
        async with limited_silence(lambda: 0, first=0.02, idle=60):
            await asyncio.Event().wait()


async def test_a_text_that_stops_is_ended_by_the_limit_for_the_middle() -> None:
    with pytest.raises(Silent, match=r"no more text came within 0\.02 s"):
        async with limited_silence(lambda: 7, first=60, idle=0.02):
            await asyncio.Event().wait()


async def test_a_text_that_grows_is_let_go_on() -> None:
    size = 0
    async with limited_silence(lambda: size, first=0.2, idle=0.2):
        for _ in range(10):
            size += 1
            await asyncio.sleep(0.05)

    assert size == 10


async def test_a_time_out_of_the_block_itself_is_no_silence() -> None:
    with pytest.raises(TimeoutError, match="its own"):
        async with limited_silence(lambda: 0, first=60, idle=60):
            raise TimeoutError("its own")


async def test_nothing_is_left_behind() -> None:
    loop = asyncio.get_running_loop()
    before = list(loop._scheduled)  # type: ignore[attr-defined] # asyncio's own

    async with limited_silence(lambda: 0, first=60, idle=60):
        pass

    left = [handle for handle in loop._scheduled if handle not in before]  # type: ignore[attr-defined]
    assert all(handle.cancelled() for handle in left)
