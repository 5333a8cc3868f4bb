"""The wish to stop a question that no generator has yet, noted where the next one to have it looks."""

from collections.abc import Collection
from uuid import UUID

import structlog
from nats.aio.msg import Msg

from citewire.contracts.identity import service_user
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.errors import TransientError

log = structlog.get_logger()


class Stops:
    """Notes what other services wish; `trusted` askers note the wishes of their users themselves."""

    def __init__(self, answer_log: AnswerLog, trusted: Collection[str]) -> None:
        self._log = answer_log
        self._trusted = trusted

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
