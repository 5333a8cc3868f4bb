"""Another service asks with nats-py alone, and gets the finished interaction on its own subject."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import nats
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from stack import Stack


@pytest.fixture
async def other_service(stack: Stack) -> Any:
    client = await nats.connect(stack.nats_url())
    yield client
    await client.close()


@pytest.fixture
def secret(admin: httpx.Client) -> Iterator[str]:
    """A knowledge base that nobody but administrators may read."""
    kb = {"kb_id": "board", "title": "Board", "embedder": "none", "access": {"everyone": False}}
    admin.post("/v1/kbs", json=kb).raise_for_status()
    yield "board"
    admin.delete("/v1/kbs/board").raise_for_status()


def question(asker: str, **fields: Any) -> dict[str, Any]:
    return {
        "question_id": str(uuid4()),
        "deadline": (datetime.now(UTC) + timedelta(seconds=60)).isoformat(),
        "asker": asker,
        "user": {"user_id": "billing-robot"},
        "question": "How far ahead should a trip be booked?",
        "kb_ids": ["handbook"],
    } | fields


async def publish(client: Client, event: dict[str, Any], message_id: str = "") -> None:
    """Publish a question; another message id is that of a message beyond the window of duplicates."""
    await client.jetstream().publish(
        f"qa.v1.question.asked.{event['asker']}",
        json.dumps(event).encode(),
        headers={"Nats-Msg-Id": message_id or event["question_id"]},
        timeout=5,
    )


async def test_another_program_gets_its_answer_on_its_own_subject(other_service: Client) -> None:
    outcomes = await other_service.subscribe("qa.v1.interaction.finished.billing")
    event = question("billing")

    await publish(other_service, event)
    outcome = json.loads((await outcomes.next_msg(timeout=20)).data)

    assert outcome["question_id"] == event["question_id"]
    assert outcome["interaction"]["status"] == "finished"
    assert outcome["interaction"]["model_response"]["citations"][0]["quotes"][0]["verdict"] == "exact"


async def test_b06_a_question_to_a_foreign_knowledge_base_is_rejected_with_the_reason(other_service: Client) -> None:
    rejections = await other_service.subscribe("qa.v1.question.rejected.billing")

    await publish(other_service, question("billing", kb_ids=["nowhere"]))
    rejection = json.loads((await rejections.next_msg(timeout=20)).data)

    assert rejection["problem"]["status"] == 404


async def test_b06_the_same_question_id_twice_is_one_run(other_service: Client) -> None:
    outcomes = await other_service.subscribe("qa.v1.interaction.finished.twice")
    event = question("twice")

    await publish(other_service, event)
    await publish(other_service, event)
    await outcomes.next_msg(timeout=20)

    with pytest.raises(nats.errors.TimeoutError):
        await outcomes.next_msg(timeout=1)


async def test_b06_a_question_asked_again_after_its_end_is_told_again_and_not_run_again(other_service: Client) -> None:
    outcomes = await other_service.subscribe("qa.v1.interaction.finished.again")
    event = question("again")

    await publish(other_service, event)
    first = json.loads((await outcomes.next_msg(timeout=20)).data)
    await publish(other_service, event, f"{event['question_id']}-again")
    second = json.loads((await outcomes.next_msg(timeout=20)).data)

    assert second["interaction"] == first["interaction"]


async def test_b06_another_question_under_a_used_id_is_a_conflict(other_service: Client) -> None:
    outcomes = await other_service.subscribe("qa.v1.interaction.finished.reuse")
    rejections = await other_service.subscribe("qa.v1.question.rejected.reuse")
    event = question("reuse")

    await publish(other_service, event)
    await outcomes.next_msg(timeout=20)
    await publish(other_service, event | {"question": "Who leads Heron?"}, f"{event['question_id']}-other")
    rejection = json.loads((await rejections.next_msg(timeout=20)).data)

    assert rejection["problem"]["status"] == 409


async def test_b06_a_message_without_a_user_is_rejected_with_that_field(other_service: Client) -> None:
    rejections = await other_service.subscribe("qa.v1.question.rejected.nobody")
    event = question("nobody")
    del event["user"]

    await publish(other_service, event)
    rejection = json.loads((await rejections.next_msg(timeout=20)).data)

    assert rejection["question_id"] == event["question_id"]
    assert [error["field"] for error in rejection["problem"]["errors"]] == ["user"]


async def test_b06_a_forged_administrator_may_not_ask_what_its_service_may_not(
    other_service: Client, secret: str
) -> None:
    rejections = await other_service.subscribe("qa.v1.question.rejected.forger")
    root = {"user_id": "admin", "role": "administrator"}

    await publish(other_service, question("forger", user=root, kb_ids=[secret]))
    rejection = json.loads((await rejections.next_msg(timeout=20)).data)

    assert rejection["problem"]["status"] == 404
    assert rejection["user"]["user_id"] == "service:forger"


async def until_kept(js: JetStreamContext, messages: int) -> None:
    letters = await js.subscribe("dead.v1.>", ordered_consumer=True)
    async with asyncio.timeout(20):
        for _ in range(messages):
            await letters.next_msg(timeout=20)
    await letters.unsubscribe()


async def test_b04_a_poison_message_stops_nobody_and_is_kept(other_service: Client) -> None:
    js = other_service.jetstream()
    outcomes = await other_service.subscribe("qa.v1.interaction.finished.after")
    subjects = (
        "qa.v1.question.asked.after",
        "qa.v1.retrieval.planned",
        "qa.v1.retrieval.requested.default.handbook",
        "qa.v1.interaction.finished.poison",
        "kb.v1.document.submitted.handbook",
    )

    before = (await js.stream_info("DEAD_LETTERS")).state.messages
    for subject in subjects:
        await js.publish(subject, b"{bad json", timeout=5)
    await publish(other_service, question("after"))
    outcome = json.loads((await outcomes.next_msg(timeout=20)).data)

    assert outcome["interaction"]["status"] == "finished"
    # The question is read by two consumers, so its poison is set aside twice.
    await until_kept(js, before + len(subjects) + 1)
    letter = await js.get_last_msg("DEAD_LETTERS", "dead.v1.QA_PLANS.generator")
    assert letter.headers is not None
    assert "unreadable" in letter.headers["Citewire-Reason"]


def test_the_samples_are_named_in_the_notice() -> None:
    notice = (Path(__file__).parents[2] / "NOTICE").read_text(encoding="utf-8")

    assert "Sourcegraph" in notice
    assert "XQuAD" in notice
