"""The parts of the persister."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected
from citewire.contracts.requests import (
    CreateSession,
    DeleteSession,
    GetInteraction,
    GetSessionContext,
    ListSessions,
    ReadSession,
    RenameSession,
)
from citewire.runtime.database import open_database
from citewire.runtime.delivery import Consumer
from citewire.runtime.migrations import migrate
from citewire.runtime.provision import AUDITOR, REJECTION_RECORDER, STORER
from citewire.runtime.service import Bindings, Responder, Service, Wires
from persister.handlers import Archivist, Recorder
from persister.settings import Settings
from persister.store import ConversationStore
from persister.sweep import Sweeper

MIGRATIONS = Path(__file__).parent / "migrations"


def create_app() -> Service:
    """The service, not yet started."""
    settings = Settings()

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        await migrate(settings.postgres_url, "conversations", MIGRATIONS)
        async with (
            open_database(settings.postgres_url) as database,
            Sweeper(wires.bus, store := ConversationStore(database), settings).running(),
        ):
            yield _bind(Recorder(store, wires.answer_log), Archivist(store))

    return Service("persister", start)


def _bind(recorder: Recorder, archivist: Archivist) -> Bindings:
    return Bindings(
        consumers=(
            Consumer(AUDITOR, QuestionAsked, recorder.record_question),
            Consumer(STORER, InteractionFinished, recorder.store_outcome),
            Consumer(REJECTION_RECORDER, QuestionRejected, recorder.record_rejection),
        ),
        responders=(
            Responder(GetSessionContext, archivist.get_context),
            Responder(CreateSession, archivist.create_session),
            Responder(RenameSession, archivist.rename_session),
            Responder(DeleteSession, archivist.delete_session),
            Responder(ListSessions, archivist.list_sessions),
            Responder(ReadSession, archivist.read_session),
            Responder(GetInteraction, archivist.get_interaction),
        ),
    )
