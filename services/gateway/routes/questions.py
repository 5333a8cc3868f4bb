"""Ask, follow, read and stop."""

import asyncio
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response

from citewire.contracts.requests import GetInteraction
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.contracts.streams import STOP_SUBJECT
from citewire.runtime.errors import Refusal, invalid, not_found
from gateway.accept import Ask
from gateway.event_stream import EventStream
from gateway.marks import Marks, ShownInteraction
from gateway.parts import Parts, TheCaller, TheParts

router = APIRouter(prefix="/v1/questions", tags=["questions"])

STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
MAX_KEY = 200

# The record of a question follows its acceptance by a moment.
RECORD_TRIES = 20
RECORD_PAUSE = 0.05


@router.post(
    "",
    status_code=200,
    response_class=EventStream,
    responses={200: {"content": {"text/event-stream": {}}}, 202: {"description": "Prefer: respond-async"}},
)
async def ask(
    body: Ask,
    caller: TheCaller,
    parts: TheParts,
    idempotency_key: Annotated[str | None, Header()] = None,
    prefer: Annotated[str, Header()] = "",
) -> Response:
    """Ask a question: the answer streams as server-sent events `sources`, `delta` …, then `done` or `error`."""
    if idempotency_key is not None and not 1 <= len(idempotency_key) <= MAX_KEY:
        raise invalid("Idempotency-Key", f"must have 1 to {MAX_KEY} characters")
    question_id = await parts.accepting.accept(body, caller.user, idempotency_key)
    if "respond-async" in prefer:
        return _accepted(question_id)
    return _stream(parts, caller, question_id, after=0, merged=not body.stream)


@router.get("/{question_id}/events", status_code=200, response_class=EventStream)
async def follow(
    question_id: UUID,
    caller: TheCaller,
    parts: TheParts,
    last_event_id: Annotated[int | None, Header(ge=0)] = None,
    cursor: Annotated[int | None, Query(ge=0)] = None,
) -> EventStream:
    """The same stream again, after frame `Last-Event-ID` (or `cursor`); from the start without one."""
    state = await parts.wires.answer_log.state(question_id)
    if state is None:
        await _record(parts, caller, question_id)
    elif state.user != caller.user.user_id:
        raise not_found("question")
    after = last_event_id if last_event_id is not None else (cursor or 0)
    return _stream(parts, caller, question_id, after=after)


@router.get("/{question_id}")
async def read(question_id: UUID, caller: TheCaller, parts: TheParts) -> ShownInteraction:
    """A question with its outcome; while it runs, its status comes from the live answer."""
    state = await parts.wires.answer_log.state(question_id)
    if state is not None and state.user != caller.user.user_id:
        raise not_found("question")
    interaction = await _record(parts, caller, question_id, is_expected=state is not None)
    if interaction.status is InteractionStatus.PENDING and await parts.wires.answer_log.read(question_id, 0):
        interaction = interaction.model_copy(update={"status": InteractionStatus.STREAMING})
    (shown,) = await Marks(parts.wires.bus, parts.kbs.entries).show([interaction], caller.user)
    return shown


@router.post("/{question_id}/stop", status_code=202)
async def stop(question_id: UUID, caller: TheCaller, parts: TheParts) -> dict[str, str]:
    """Stop an answer; what was written so far is kept. Stopping an ended one changes nothing."""
    state = await parts.wires.answer_log.state(question_id)
    if state is None:
        await _record(parts, caller, question_id)
    elif state.user != caller.user.user_id:
        raise not_found("question")
    elif not state.is_ended:
        # The flag reaches the writer at its next append, the message at once.
        await parts.wires.answer_log.request_stop(question_id)
        await parts.wires.bus.client.publish(f"{STOP_SUBJECT}.{question_id}")
    return {"question_id": str(question_id)}


def _stream(parts: Parts, caller: TheCaller, question_id: UUID, *, after: int, merged: bool = False) -> EventStream:
    chunks = parts.streams.read(question_id, caller.user, after, merged=merged)
    return EventStream(chunks, {**STREAM_HEADERS, "X-Question-Id": str(question_id)})


def _accepted(question_id: UUID) -> JSONResponse:
    where = f"/v1/questions/{question_id}"
    content = {"question_id": str(question_id), "status": "pending", "events": f"{where}/events"}
    return JSONResponse(content, 202, headers={"Location": where, "Preference-Applied": "respond-async"})


async def _record(parts: Parts, caller: TheCaller, question_id: UUID, *, is_expected: bool = False) -> Interaction:
    """The interaction on record; one that is accepted and not yet on record is waited for a moment."""
    request = GetInteraction(question_id=question_id, user_id=caller.user.user_id)
    for _ in range(RECORD_TRIES if is_expected else 1):
        try:
            return (await parts.wires.bus.ask(request)).interaction
        except Refusal as refusal:
            if refusal.problem.status != HTTPStatus.NOT_FOUND:
                raise
        await asyncio.sleep(RECORD_PAUSE)
    raise not_found("question")
