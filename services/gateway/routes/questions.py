"""Ask, follow, read and stop."""

import asyncio
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

import nats.errors
from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response

from citewire.contracts.requests import GetInteraction
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.runtime.answer_log import AnswerState
from citewire.runtime.errors import Refusal, TransientError, invalid, not_found
from citewire.runtime.provision import AUDITOR
from gateway.accept import Ask
from gateway.event_stream import Chunks, EventStream
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
    is_new = idempotency_key is None
    chunks = parts.streams.follow(question_id, caller.user, after=0, merged=not body.stream, is_new=is_new)
    return _stream(parts, question_id, chunks)


@router.get("/{question_id}/events", status_code=200, response_class=EventStream)
async def follow(
    question_id: UUID,
    caller: TheCaller,
    parts: TheParts,
    last_event_id: Annotated[int | None, Header(ge=0)] = None,
    cursor: Annotated[int | None, Query(ge=0)] = None,
) -> EventStream:
    """The same stream again, after frame `Last-Event-ID` (or `cursor`); from the start without one."""
    await _check_owner(parts, caller, question_id)
    after = last_event_id if last_event_id is not None else (cursor or 0)
    return _stream(parts, question_id, parts.streams.follow(question_id, caller.user, after))


@router.get("/{question_id}")
async def read(question_id: UUID, caller: TheCaller, parts: TheParts) -> ShownInteraction:
    """A question with its outcome; while it runs, its status comes from the live answer."""
    state = await _live_state(parts, question_id)
    if state is not None and state.user != caller.user.user_id:
        raise not_found("question")
    interaction = await _record(parts, caller, question_id, is_expected=state is not None)
    is_pending = interaction.status is InteractionStatus.PENDING
    if is_pending and state is not None and await parts.wires.answer_log.read(question_id, 0, limit=1):
        interaction = interaction.model_copy(update={"status": InteractionStatus.STREAMING})
    (shown,) = await Marks(parts.wires.bus, parts.kbs.entries).show([interaction], caller.user)
    return shown


@router.post("/{question_id}/stop", status_code=202)
async def stop(question_id: UUID, caller: TheCaller, parts: TheParts) -> dict[str, str]:
    """Stop an answer; what was written so far is kept. Stopping an ended one changes nothing."""
    state = await _check_owner(parts, caller, question_id)
    if state is None or not state.is_ended:
        await parts.stops.stop(question_id)
    return {"question_id": str(question_id)}


async def _check_owner(parts: Parts, caller: TheCaller, question_id: UUID) -> AnswerState | None:
    """The state of the caller's own answer, None when only the record knows it; raises Refusal 404."""
    state = await _live_state(parts, question_id)
    if state is None:
        await _record(parts, caller, question_id)
    elif state.user != caller.user.user_id:
        raise not_found("question")
    return state


async def _live_state(parts: Parts, question_id: UUID) -> AnswerState | None:
    """What Redis knows of an answer; nothing while it is away, since the record can stand in for it."""
    try:
        return await parts.wires.answer_log.state(question_id)
    except TransientError:
        return None


def _stream(parts: Parts, question_id: UUID, chunks: AbstractAsyncContextManager[Chunks]) -> EventStream:
    headers = {**STREAM_HEADERS, "X-Question-Id": str(question_id)}
    return EventStream(chunks, headers, parts.settings.send_limit)


def _accepted(question_id: UUID) -> JSONResponse:
    where = f"/v1/questions/{question_id}"
    content = {"question_id": str(question_id), "status": "pending", "events": f"{where}/events"}
    return JSONResponse(content, 202, headers={"Location": where, "Preference-Applied": "respond-async"})


async def _record(parts: Parts, caller: TheCaller, question_id: UUID, *, is_expected: bool = False) -> Interaction:
    """The interaction on record; one that is accepted and not yet on record is waited for a moment.

    Raises Refusal 404 only when no accepted question waits to be put on record, and TransientError after that moment.
    """
    request = GetInteraction(question_id=question_id, user_id=caller.user.user_id)
    are_all_there = False
    for _ in range(RECORD_TRIES):
        try:
            return (await parts.wires.bus.ask(request)).interaction
        except Refusal as refusal:
            if refusal.problem.status != HTTPStatus.NOT_FOUND or are_all_there:
                raise
        are_all_there = not is_expected and await _are_all_on_record(parts)
        if not are_all_there:
            await asyncio.sleep(RECORD_PAUSE)
    raise TransientError("the question may not be on record yet")


async def _are_all_on_record(parts: Parts) -> bool:
    """Whether the persister has put every question on record that was accepted before this call."""
    try:
        info = await parts.wires.bus.js.consumer_info(AUDITOR.stream, AUDITOR.durable)
    except (nats.errors.Error, TimeoutError) as error:
        raise TransientError(f"NATS: {error!r}") from error
    return not (info.num_pending or info.num_ack_pending)
