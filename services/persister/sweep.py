"""Every accepted question ends: those whose time passed without an outcome are ended here, whatever died."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from datetime import timedelta

import structlog
from nats.errors import Error as NatsError

from citewire.contracts.events import now
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError
from citewire.runtime.provision import STORER
from persister.failures import expired
from persister.settings import Settings
from persister.store import ConversationStore

log = structlog.get_logger()


class Sweeper:
    """Ends what nobody ended; several may run, since an outcome's id makes its second publication none."""

    def __init__(self, bus: Bus, store: ConversationStore, settings: Settings) -> None:
        self._bus = bus
        self._store = store
        self._settings = settings

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Sweep at intervals until the block ends."""
        sweeping = asyncio.create_task(self._sweep_for_ever())
        try:
            yield
        finally:
            sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sweeping

    async def sweep(self) -> int:
        """End the questions that are overdue; how many."""
        if await self._has_waiting_outcomes():
            return 0
        overdue = await self._store.unsettled(now() - timedelta(seconds=self._settings.sweep_grace))
        for question in overdue:
            log.warning("question ended by the sweeper", question_id=str(question.question_id))
            await self._bus.publish(expired(question))
        return len(overdue)

    async def _has_waiting_outcomes(self) -> bool:
        """Whether outcomes failed to be stored and will be tried again: a real one must not lose to ours."""
        try:
            info = await self._bus.js.consumer_info(STORER.stream, STORER.durable)
        except (NatsError, TimeoutError) as error:
            raise TransientError("JetStream is away") from error
        return bool(info.num_redelivered)

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.sweep_interval)
            try:
                await self.sweep()
            except TransientError as error:
                log.warning("sweep failed", reason=str(error))
