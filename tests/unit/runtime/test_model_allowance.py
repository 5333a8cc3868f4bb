"""The time that all tries of a model call have together."""

from citewire.runtime.model.exchange import Allowance


async def test_what_ends_with_the_whole_call_is_told_from_what_ends_before_it() -> None:
    time = Allowance(10.0)

    assert time.ends_at(time.within(30.0))
    assert not time.ends_at(time.within(5.0))


async def test_the_end_is_known_before_the_clock_has_reached_it() -> None:
    time = Allowance(10.0)

    assert time.left() > 0
    assert time.ends_at(time.within(10.0 + 1.0))
