"""How often a process looks for unreachable objects."""

import gc
from collections.abc import Iterator

import pytest

from citewire.runtime.garbage import spare_collections


@pytest.fixture
def _collector() -> Iterator[None]:
    """What is changed for the whole process is put back."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_collector")
def test_what_lasts_is_no_more_looked_at_by_the_garbage_collector() -> None:
    kept = [[number] for number in range(1000)]

    spare_collections()

    assert not any(kept is found for found in gc.get_objects())
