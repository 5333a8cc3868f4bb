"""How much room a model's context leaves for a question."""

import pytest

from citewire.text.budget import RULES_TOKENS, answer_tokens, question_fits, question_room
from citewire.text.tokens import count_tokens


def test_the_room_is_what_answer_rules_and_system_message_leave() -> None:
    message = "Answer like a pirate."

    room = question_room(8000, 1000, message)

    assert room == 8000 - 1000 - RULES_TOKENS - count_tokens(message)


def test_an_answer_has_at_most_half_of_the_context() -> None:
    assert answer_tokens(32_000, 32_000) == 16_000
    assert question_room(32_000, 32_000, "") == 16_000 - RULES_TOKENS


def test_the_room_is_never_below_zero() -> None:
    assert question_room(1024, 16, "word " * 5000) == 0


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (-1, False)])
def test_a_question_fits_to_the_last_token(spare: int, fits: bool) -> None:
    question = "为什么营业收入下降了？" * 40
    context = count_tokens(question) + RULES_TOKENS + 100 + spare

    assert question_room(context, 100, "") == count_tokens(question) + spare
    assert question_fits(question, context, 100, "") is fits


def test_a_system_message_takes_room_from_the_question() -> None:
    question, message = "word " * 500, "rule " * 500

    assert question_fits(question, 2500, 100, "")
    assert not question_fits(question, 2500, 100, message)
