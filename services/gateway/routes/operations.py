"""Alive, ready, and the documents of the interface."""

import contextlib

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from citewire.contracts.asyncapi import asyncapi_document
from citewire.contracts.identity import User
from citewire.contracts.requests import ListDocuments, ListSessions
from citewire.runtime.errors import Refusal
from citewire.runtime.health import readiness
from gateway.parts import TheParts

router = APIRouter(tags=["operations"])


@router.get("/healthz")
async def alive() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.get("/readyz")
async def ready(parts: TheParts) -> JSONResponse:
    """The servers behind it answer."""
    states = await readiness(parts.wires)
    return JSONResponse(states, 200 if set(states.values()) == {"ok"} else 503)


@router.get("/readyz/owners")
async def owners_ready(parts: TheParts) -> JSONResponse:
    """The services that own data answer: the persister and the retriever."""
    await parts.wires.bus.ask(ListSessions(user_id="", limit=1))
    # That there is no such knowledge base is an answer, too.
    with contextlib.suppress(Refusal):
        await parts.wires.bus.ask(ListDocuments(user=User(user_id=""), kb_id="none", limit=1))
    return JSONResponse({"status": "ok"})


@router.get("/asyncapi")
async def asyncapi() -> JSONResponse:
    """The AsyncAPI document of all events and requests."""
    return JSONResponse(asyncapi_document())
