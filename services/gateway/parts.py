"""What routes need, built once per process and found on the application's state."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from citewire.contracts.knowledge import KnowledgeBase
from citewire.runtime.providers import Providers
from citewire.runtime.registry import Registry
from citewire.runtime.service import Wires
from gateway.accept import Accepting
from gateway.identity import Caller, Identities, require_administrator
from gateway.settings import Settings
from gateway.stop import Stops
from gateway.stream import AnswerStreams


@dataclass(frozen=True)
class Parts:
    """The gateway's parts."""

    settings: Settings
    wires: Wires
    kbs: Registry[KnowledgeBase]
    providers: Providers
    identities: Identities
    streams: AnswerStreams
    stops: Stops
    accepting: Accepting


async def get_parts(request: Request) -> Parts:
    """The parts of the application that handles a request (async, or FastAPI would use a thread)."""
    parts: Parts = request.app.state.parts
    return parts


async def get_caller(request: Request) -> Caller:
    """The identified caller; raises Refusal 401 or 403."""
    return await (await get_parts(request)).identities.identify(request)


async def get_administrator(request: Request) -> Caller:
    """A caller who may administrate; raises Refusal 401 or 403."""
    caller = await get_caller(request)
    require_administrator(caller)
    return caller


TheParts = Annotated[Parts, Depends(get_parts)]
TheCaller = Annotated[Caller, Depends(get_caller)]
TheAdministrator = Annotated[Caller, Depends(get_administrator)]
