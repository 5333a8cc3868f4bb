"""When to come back to a stage that has too much waiting."""

import pytest

from gateway.pressure import Stage


def stage(*samples: tuple[float, int], depth: int) -> Stage:
    """A stage with this depth, that had handled so many messages at these times."""
    seen = Stage()
    for at, handled in samples:
        seen.sample(at, depth, handled)
    return seen


def test_the_wait_is_how_long_the_stage_needs_for_what_it_has() -> None:
    busy = stage((10.0, 100), (12.0, 300), depth=500)

    assert (busy.rate, busy.retry_after) == (100.0, 5)


def test_only_the_latest_samples_say_how_fast_a_stage_is() -> None:
    samples = [(float(second), 1000 * second if second < 10 else 10_000) for second in range(20)]

    assert stage(*samples, depth=1).rate == 0.0


@pytest.mark.parametrize(
    ("samples", "depth", "seconds"),
    [
        ([(1.0, 0), (2.0, 1000)], 10, 1),
        ([(1.0, 0), (2.0, 1)], 500, 30),
        ([(1.0, 7), (2.0, 7)], 500, 30),
        ([(1.0, 7)], 500, 30),
        ([(1.0, 900), (2.0, 0)], 500, 30),
    ],
    ids=["quick", "slow", "at rest", "just seen", "restarted"],
)
def test_the_wait_is_a_second_to_half_a_minute(samples: list[tuple[float, int]], depth: int, seconds: int) -> None:
    assert stage(*samples, depth=depth).retry_after == seconds
