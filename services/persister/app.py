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
    ReplayOutcome,
)
from citewire.runtime.database import open_database
from citewire.runtime.delivery import Consumer
from citewire.runtime.migrations import migrate
from citewire.runtime.provision import AUDITOR, REJECTION_RECORDER, STORER
from citewire.runtime.service import Bindings, Responder, Service, Wires
from citewire.runtime.settings import RuntimeSettings
from persister.answer_ends import AnswerEnds
from persister.handlers import Archivist, Recorder, Replayer
from persister.session_store import SessionStore
from persister.settings import Settings
from persister.store import OutcomeStore
from persister.sweep import Sweeper

MIGRATIONS = Path(__file__).parent / "migrations"


def create_app() -> Service:
    """The service, not yet started."""
    settings, trusted = Settings(), RuntimeSettings().trusted_askers

    @contextlib.asynccontextmanager
    async def start(wires: Wires) -> AsyncGenerator[Bindings]:
        await migrate(settings.postgres_url, "conversations", MIGRATIONS)
        async with open_database(settings.postgres_url) as database:
            store, ends = OutcomeStore(database), AnswerEnds(wires.answer_log)
            async with Sweeper(wires.bus, store, ends, settings).running():
                recorder, archivist = Recorder(store, ends, trusted), Archivist(SessionStore(database), store)
                yield _bind(recorder, archivist, Replayer(store, wires.bus))

    return Service("persister", start)


def _bind(recorder: Recorder, archivist: Archivist, replayer: Replayer) -> Bindings:
    return Bindings(
        consumers=(
            Consumer(AUDITOR, QuestionAsked, recorder.record_question),
            Consumer(STORER, InteractionFinished, recorder.store_outcome, recorder.give_up, recorder.refuse),
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
            Responder(ReplayOutcome, replayer.replay_outcome),
        ),
    )
