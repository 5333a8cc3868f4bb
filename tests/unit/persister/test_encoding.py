"""What goes into columns and cursors."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

import pytest

from citewire.contracts.identity import User
from citewire.runtime.errors import Refusal
from persister.encoding import (
    escape_like,
    interaction_cursor,
    list_to_json,
    read_interaction_cursor,
    read_session_cursor,
    session_cursor,
    to_json,
)


def test_nul_never_reaches_a_json_column() -> None:
    assert "\\u0000" not in to_json(User(user_id="a\0b"))
    assert "\\u0000" not in list_to_json((User(user_id="a\0b"),))


def test_a_backslash_before_what_looks_like_nul_stays() -> None:
    user = User(user_id=r"a\u0000b")

    assert User.model_validate_json(to_json(user)) == user


def test_a_cursor_of_sessions_comes_back_to_the_microsecond() -> None:
    at, session_id = datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2))), uuid4()

    assert read_session_cursor(session_cursor((at, session_id))) == (at.astimezone(UTC), session_id)


def test_a_cursor_of_interactions_comes_back() -> None:
    assert read_interaction_cursor(interaction_cursor(2**40)) == 2**40


@pytest.mark.parametrize("sequence", [-1, 2**63])
def test_a_number_that_the_database_cannot_have_is_no_cursor(sequence: int) -> None:
    with pytest.raises(Refusal):
        read_interaction_cursor(interaction_cursor(sequence))


def test_a_pattern_takes_its_text_literally() -> None:
    assert escape_like(r"100%_\a") == r"100\%\_\\a"
