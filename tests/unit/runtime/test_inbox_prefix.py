"""Where the replies of NATS come: nobody else may listen there, and a secret is never part of it."""

import pytest

from citewire.runtime.settings import RuntimeSettings


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        ("nats://generator:secret@nats:4222", "_INBOX_generator"),
        ("nats://generator:secret@one:4222,nats://generator:secret@two:4222", "_INBOX_generator"),
        ("nats://nats:4222", "_INBOX"),
        ("nats://token@nats:4222", "_INBOX"),
    ],
)
def test_replies_come_below_the_name_of_a_user_with_a_password(url: str, prefix: str) -> None:
    assert RuntimeSettings(nats_url=url).inbox_prefix == prefix
