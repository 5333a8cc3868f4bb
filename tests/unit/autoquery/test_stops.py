"""Who may stop a question that no generator has yet."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from autoquery.stops import Stops
from citewire.contracts.events import now
from citewire.runtime.answer_log import AnswerLog, AnswerState
from citewire.runtime.errors import TransientError

QUESTION = uuid4()


class KnownLog(AnswerLog):
    """Knows whose the one question is, and keeps what is to be stopped."""

    def __init__(self, user: str | None = None, *, is_away: bool = False) -> None:
        self._user = user
        self._is_away = is_away
        self.stopped: list[UUID] = []

    async def state(self, question_id: UUID) -> AnswerState | None:
        if self._is_away:
            raise TransientError("Redis: away")
        return None if self._user is None else _state(self._user)

    async def request_stop(self, question_id: UUID) -> bool:
        self.stopped.append(question_id)
        return True


def _state(user: str) -> AnswerState:
    known: dict[str, Any] = {"fingerprint": "", "is_stopped": False, "is_ended": False, "is_claimed": False}
    return AnswerState(user=user, deadline=now(), grace=None, **known)


async def stopped(answer_log: KnownLog, subject: str) -> list[UUID]:
    message: Any = SimpleNamespace(subject=subject)
    await Stops(answer_log, ("web",)).take(message)
    return answer_log.stopped


async def test_a_service_stops_its_own_question() -> None:
    assert await stopped(KnownLog("service:shop"), f"qa.v1.answer.stop.shop.{QUESTION}") == [QUESTION]


@pytest.mark.parametrize("owner", ["service:other", "alice", None])
async def test_a_service_stops_no_question_of_others(owner: str | None) -> None:
    assert await stopped(KnownLog(owner), f"qa.v1.answer.stop.shop.{QUESTION}") == []


async def test_what_the_gateway_has_noted_is_not_noted_again() -> None:
    assert await stopped(KnownLog("service:web"), f"qa.v1.answer.stop.web.{QUESTION}") == []


async def test_a_stop_that_names_no_question_harms_nobody() -> None:
    assert await stopped(KnownLog("service:shop"), "qa.v1.answer.stop.shop.everything") == []


async def test_without_redis_a_stop_harms_nobody() -> None:
    assert await stopped(KnownLog(is_away=True), f"qa.v1.answer.stop.shop.{QUESTION}") == []
