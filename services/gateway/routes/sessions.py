"""Conversations: create, list, read, rename, delete."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field
from uuid_utils.compat import uuid7

from citewire.contracts.model import Input, Message
from citewire.contracts.requests import (
    CreateSession,
    DeleteSession,
    ListSessions,
    ReadSession,
    RenameSession,
    SessionPage,
)
from citewire.contracts.sessions import Session, SessionParamsInput
from citewire.text.normalise import clean
from gateway.marks import Marks, ShownInteraction
from gateway.parts import TheCaller, TheParts
from gateway.permits import check_scope

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

Limit = Annotated[int, Query(ge=1, le=200)]


class NewSession(Input):
    """A session before its first question; without a title it takes that question's."""

    title: str = Field(default="", max_length=200)
    params: SessionParamsInput = SessionParamsInput()


class Rename(Input):
    """A session's new title."""

    title: str = Field(min_length=1, max_length=200)


class ShownSession(Message):
    """A session with a page of its interactions, oldest first."""

    session: Session
    interactions: tuple[ShownInteraction, ...]
    next_cursor: str | None = None


@router.post("", status_code=201)
async def create(body: NewSession, caller: TheCaller, parts: TheParts) -> Session:
    """Create a session; its knowledge bases are fixed from now on."""
    await check_scope(parts.kbs, body.params.kb_ids, body.params.filters, caller.user)
    request = CreateSession(
        session_id=uuid7(), user_id=caller.user.user_id, title=clean(body.title), params=body.params
    )
    return (await parts.wires.bus.ask(request)).session


@router.get("")
async def list_sessions(  # noqa: PLR0913 - one argument per query parameter
    caller: TheCaller,
    parts: TheParts,
    *,
    supp_id: str | None = None,
    q: str | None = None,
    limit: Limit = 50,
    cursor: str | None = None,
) -> SessionPage:
    """The caller's sessions, newest change first; `q` searches titles and questions."""
    request = ListSessions(user_id=caller.user.user_id, supp_id=supp_id, text=q, limit=limit, cursor=cursor)
    return await parts.wires.bus.ask(request)


@router.get("/{session_id}")
async def read(
    session_id: UUID, caller: TheCaller, parts: TheParts, limit: Limit = 50, cursor: str | None = None
) -> ShownSession:
    """A session with its interactions, oldest first; what has become of their sources since is marked."""
    request = ReadSession(session_id=session_id, user_id=caller.user.user_id, limit=limit, cursor=cursor)
    page = await parts.wires.bus.ask(request)
    shown = await Marks(parts.wires.bus, parts.kbs.entries).show(page.interactions, caller.user)
    return ShownSession(session=page.session, interactions=shown, next_cursor=page.next_cursor)


@router.patch("/{session_id}")
async def rename(session_id: UUID, body: Rename, caller: TheCaller, parts: TheParts) -> Session:
    """Give a session another title."""
    request = RenameSession(session_id=session_id, user_id=caller.user.user_id, title=clean(body.title))
    return (await parts.wires.bus.ask(request)).session


@router.delete("/{session_id}", status_code=204)
async def delete(session_id: UUID, caller: TheCaller, parts: TheParts) -> None:
    """Delete a session with its interactions."""
    await parts.wires.bus.ask(DeleteSession(session_id=session_id, user_id=caller.user.user_id))
