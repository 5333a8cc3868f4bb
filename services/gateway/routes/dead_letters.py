"""Messages that were set aside, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from citewire.contracts.dead_letters import DeadLetter, DeadLetterPage
from citewire.contracts.requests import Retried
from gateway.dead_letters import DeadLetters
from gateway.parts import TheAdministrator, TheParts

router = APIRouter(prefix="/v1/dead-letters", tags=["operations"])

# As far as JetStream counts.
MAX_SEQUENCE = 2**63 - 1
Sequence = Annotated[int, Path(ge=1, le=MAX_SEQUENCE)]


@router.get("")
async def list_letters(
    _: TheAdministrator,
    parts: TheParts,
    cursor: Annotated[int, Query(ge=0, lt=MAX_SEQUENCE)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DeadLetterPage:
    """Letters after the cursor, oldest first; of each payload the first 2,000 characters."""
    return await DeadLetters(parts.wires.bus).page(cursor, limit)


@router.get("/{sequence}")
async def read_letter(sequence: Sequence, _: TheAdministrator, parts: TheParts) -> DeadLetter:
    """One letter, whole."""
    return await DeadLetters(parts.wires.bus).read(sequence)


@router.post("/{sequence}/retry")
async def retry_letter(sequence: Sequence, _: TheAdministrator, parts: TheParts) -> Retried:
    """Handle the message once more; its letter goes when that has succeeded, at once or a while after the reply."""
    return await DeadLetters(parts.wires.bus).retry(sequence)


@router.delete("/{sequence}", status_code=204)
async def remove_letter(sequence: Sequence, _: TheAdministrator, parts: TheParts) -> None:
    """Drop a letter unhandled."""
    await DeadLetters(parts.wires.bus).remove(sequence)
