"""The wire as it is and the wire as it is committed are the same."""

import pytest

from contract.snapshots import committed, generate

GENERATED = generate()


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_a_message_is_what_its_snapshot_says(name: str) -> None:
    snapshot = committed().get(name)

    assert snapshot == GENERATED[name], f"{name} has changed; if that is wanted, run `make snapshots`"


def test_no_snapshot_is_left_of_a_message_that_is_gone() -> None:
    left = committed().keys() - GENERATED.keys()

    assert not left, "run `make snapshots`"
