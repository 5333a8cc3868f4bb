"""A question that neither the log nor the record knows: it may be an accepted one all the same."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from types import SimpleNamespace
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from redis.asyncio import Redis

from citewire.contracts.events import QuestionAsked, now
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.service import Wires
from gateway.identity import Caller
from gateway.parts import get_caller, get_parts
from gateway.problems import install_problem_handlers
from gateway.routes import questions
from stream_stage import READER, Store, running_store


@pytest.fixture
async def store(bus: Bus) -> AsyncGenerator[Store]:
    async with running_store(bus) as store:
        yield store


@pytest.fixture
async def client(
    bus: Bus, redis: Redis, answer_log: AnswerLog, store: Store, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[httpx.AsyncClient]:
    monkeypatch.setattr(questions, "RECORD_PAUSE", 0.001)
    app = FastAPI()
    app.include_router(questions.router)
    install_problem_handlers(app)
    app.dependency_overrides[get_parts] = lambda: SimpleNamespace(wires=Wires(bus, redis, answer_log))
    app.dependency_overrides[get_caller] = lambda: Caller(user=READER, csrf_token=None)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        yield client


@pytest.mark.parametrize("path", ["", "/events"])
async def test_a_question_that_nobody_asked_is_404(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(f"/v1/questions/{uuid4()}{path}")

    assert response.status_code == 404


@pytest.mark.parametrize("path", ["", "/events"])
async def test_while_questions_wait_to_be_put_on_record_it_may_be_one_of_them(
    client: httpx.AsyncClient, bus: Bus, path: str
) -> None:
    event = QuestionAsked(
        question_id=uuid4(), deadline=now() + timedelta(seconds=60), asker="web", user=READER, question="Why?"
    )
    await bus.publish(event)

    response = await client.get(f"/v1/questions/{event.question_id}{path}")

    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) > 0
