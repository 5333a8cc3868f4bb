"""The wish to stop a question that no generator has yet: it interrupts what plans it, and is noted where the next
one to have it looks.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection
from uuid import UUID

import structlog
from nats.aio.msg import Msg

from citewire.contracts.identity import service_user
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.errors import TransientError

log = structlog.get_logger()


class Stopped(Exception):  # noqa: N818 - a wish, not a fault
    """The question is not wanted any more."""


class Stops:
    """Notes what other services wish; `trusted` askers note the wishes of their users themselves."""

    def __init__(self, answer_log: AnswerLog, trusted: Collection[str]) -> None:
        self._log = answer_log
        self._trusted = trusted
        self._planned: dict[tuple[str, str], asyncio.Timeout] = {}

    @contextlib.asynccontextmanager
    async def interrupting(self, asker: str, question_id: UUID) -> AsyncGenerator[None]:
        """End the block with Stopped as soon as its asker stops a question; that is noted by then."""
        name, limit = (asker, str(question_id)), asyncio.timeout(None)
        self._planned[name] = limit
        try:
            async with limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            # Whoever said it may not have noted it yet, and a generator must not take the question for a wanted one.
            await self._log.request_stop(question_id)
            raise Stopped from None
        finally:
            self._planned.pop(name, None)

    async def interrupt(self, message: Msg) -> None:
        """Stop what is planned here, if it is what the message names."""
        asker, name = message.subject.split(".")[-2:]
        limit = self._planned.get((asker, name))
        if limit is not None and not limit.expired():
            limit.reschedule(asyncio.get_running_loop().time())

    async def take(self, message: Msg) -> None:
        """Note one wish, if the question is its asker's."""
        asker, name = message.subject.split(".")[-2:]
        try:
            await self._note(asker, UUID(name))
        except ValueError:
            log.warning("a stop names no question", subject=message.subject)
        except TransientError as error:
            log.warning("a stop is not noted", reason=str(error))

    async def _note(self, asker: str, question_id: UUID) -> None:
        if asker in self._trusted:
            return
        state = await self._log.state(question_id)
        if state is not None and state.user == service_user(asker).user_id:
            await self._log.request_stop(question_id)
