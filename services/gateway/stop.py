"""Stopping answers, whoever writes them."""

from dataclasses import dataclass
from uuid import UUID

import structlog

from citewire.contracts.streams import STOP_SUBJECT
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError

log = structlog.get_logger()


@dataclass(frozen=True)
class Stops:
    """Stops answers to questions of this gateway's asker."""

    bus: Bus
    log: AnswerLog
    asker: str

    async def stop(self, question_id: UUID) -> None:
        """Tell the writer at once, and leave a mark for one that does not hear it, such as one that comes later."""
        await self.bus.client.publish(f"{STOP_SUBJECT}.{self.asker}.{question_id}")
        try:
            await self.log.request_stop(question_id)
        except TransientError as error:
            log.warning("stop not marked", question_id=str(question_id), reason=str(error))
