"""The ends of answer logs: what a log has that nobody published, and what was published that a log lacks."""

import asyncio

import structlog

from citewire.contracts.answers import EntryKind
from citewire.contracts.events import InteractionFinished
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.runtime.answer_log import AnswerLog, Lease, encode_delta, encode_entry
from citewire.runtime.errors import TransientError
from citewire.runtime.written import Written, read_written
from persister.endings import done_of, salvaged, sources_of

log = structlog.get_logger()

# Seconds that storing waits for Redis: readers who are not told find the outcome in the store, only later.
TELL_LIMIT = 1.0
# Seconds between tries: a Redis that restarts is back soon.
TELL_PAUSES = (0.02, 0.1, 0.3, 0.5)


class AnswerEnds:
    """Ends logs; every write takes the lease first, which fences a generator that may still be at it."""

    def __init__(self, answer_log: AnswerLog) -> None:
        self._log = answer_log

    async def salvage(self, event: InteractionFinished) -> InteractionFinished:
        """A failure, or what its log has instead; a log without an end gets it. Raises TransientError."""
        user_id, question_id = event.user.user_id, event.question_id
        state = await self._log.state(question_id)
        # A log of somebody else is that of another question with the same id.
        if state is None or state.user != user_id:
            return event
        lease = await self._log.claim(question_id, user_id, 0)
        written = read_written(lease.entries)
        event = salvaged(event, written.sources, written.text, written.done, is_stopped=lease.is_stopped)
        if written.done is None:
            await self._end(lease, written, event.interaction)
        return event

    async def salvage_or_keep(self, event: InteractionFinished) -> InteractionFinished:
        """The same, or the failure as it is while Redis is away."""
        try:
            async with asyncio.timeout(TELL_LIMIT):
                return await self.salvage(event)
        except (TransientError, TimeoutError) as error:
            log.warning("failure taken as it is", question_id=str(event.question_id), reason=str(error))
            return event

    async def tell(self, user_id: str, interaction: Interaction, stored: InteractionStatus | None) -> None:
        """Tell the readers which status was stored, and end the log of an outcome that ended none.

        None: nothing was stored, so that nobody is told that it was. While Redis is away nobody is told anything.
        """
        try:
            async with asyncio.timeout(TELL_LIMIT):
                for pause in TELL_PAUSES:
                    if await self._is_told(user_id, interaction, stored):
                        return
                    await asyncio.sleep(pause)
        except TimeoutError:
            pass
        log.warning("readers were not told", question_id=str(interaction.question_id))

    async def _is_told(self, user_id: str, interaction: Interaction, stored: InteractionStatus | None) -> bool:
        question_id = interaction.question_id
        try:
            if stored is not None and await self._log.mark_stored(question_id, stored):
                return True
            # Another outcome was first: who stored it ends the log.
            if stored is None or stored is interaction.status:
                await self._finish(user_id, interaction)
            if stored is not None:
                await self._log.mark_stored(question_id, stored)
        except TransientError:
            return False
        return True

    async def _finish(self, user_id: str, interaction: Interaction) -> None:
        state = await self._log.state(interaction.question_id)
        if state is None or state.is_ended or state.user != user_id:
            return
        lease = await self._log.claim(interaction.question_id, user_id, 0)
        written = read_written(lease.entries)
        if written.done is None:
            await self._end(lease, written, interaction)

    async def _end(self, lease: Lease, written: Written, interaction: Interaction) -> None:
        """Write what a log lacks of an answer. A text that is not the answer's beginning is left as it is."""
        entries: list[str] = []
        if written.sources is None and not lease.entries and (sources := sources_of(interaction)):
            entries.append(encode_entry(EntryKind.SOURCES, sources))
        rest = interaction.model_response.content.removeprefix(written.text)
        if rest and interaction.model_response.content.startswith(written.text):
            entries.append(encode_delta(rest))
        entries.append(encode_entry(EntryKind.END, done_of(interaction)))
        # Refused when another process of this service was faster, with the same end.
        await self._log.append(lease, entries, len(lease.entries), is_end=True)
