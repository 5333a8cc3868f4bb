"""The stages: questions and outcomes are put on record; owners of sessions are answered."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import uuid4

from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected
from citewire.contracts.requests import (
    CreateSession,
    DeleteSession,
    Done,
    GetInteraction,
    GetSessionContext,
    InteractionPage,
    InteractionReply,
    ListSessions,
    ReadSession,
    RenameSession,
    ReplayOutcome,
    SessionContext,
    SessionPage,
    SessionReply,
)
from citewire.contracts.sessions import InteractionStatus
from citewire.runtime.bus import Bus
from persister.answer_ends import AnswerEnds
from persister.endings import rejected, repaired, unstorable
from persister.session_store import SessionStore
from persister.store import OutcomeStore

# Of rejections: that the id belongs to another question, which nothing may change.
CONFLICT = 409


@dataclass(frozen=True)
class Recorder:
    """Puts events on record; `trusted` askers may say who asks."""

    store: OutcomeStore
    ends: AnswerEnds
    trusted: Collection[str]

    async def record_question(self, event: QuestionAsked) -> None:
        """The audit row."""
        await self.store.record_question(event, event.asked_by(self.trusted))

    async def store_outcome(self, event: InteractionFinished) -> None:
        """Store the outcome, then tell the readers. A failure keeps what readers have been shown meanwhile."""
        interaction = event.interaction
        if interaction.status is InteractionStatus.FAILED and not interaction.model_response.content:
            event = await self.ends.salvage_or_keep(event)
        await self._store(event)

    async def give_up(self, event: InteractionFinished, reason: str) -> None:
        """End a question whose outcome the database does not take."""
        await self._store(unstorable(event, reason))

    async def refuse(self, subject: str, data: bytes, reason: str) -> None:  # noqa: ARG002 - told of every unreadable one
        """Store an unreadable outcome that can be made readable."""
        event = repaired(data)
        if event is not None and event.full_subject == subject:
            await self.store_outcome(event)

    async def _store(self, event: InteractionFinished) -> None:
        stored = await self.store.store_outcome(event)
        await self.ends.tell(event.user.user_id, event.interaction, stored)

    async def record_rejection(self, event: QuestionRejected) -> None:
        """Put a rejection on record and end its log; one that is of another question with its id changes nothing."""
        if not event.fingerprint or event.problem.status == CONFLICT:
            return
        if await self.store.record_rejection(event):
            user_id = event.user.user_id if event.user else ""
            await self.ends.tell(user_id, rejected(event), InteractionStatus.FAILED)


@dataclass(frozen=True)
class Archivist:
    """Answers requests about conversations."""

    sessions: SessionStore
    outcomes: OutcomeStore

    async def get_context(self, request: GetSessionContext) -> SessionContext:
        """A session and its newest turns."""
        return await self.sessions.context(request.session_id, request.user_id, request.turns)

    async def create_session(self, request: CreateSession) -> SessionReply:
        """A new session."""
        session = await self.sessions.create_session(request.session_id, request.user_id, request.title, request.params)
        return SessionReply(session=session)

    async def rename_session(self, request: RenameSession) -> SessionReply:
        """Another title."""
        session = await self.sessions.rename_session(request.session_id, request.user_id, request.title)
        return SessionReply(session=session)

    async def delete_session(self, request: DeleteSession) -> Done:
        """A session gone, with its interactions."""
        await self.sessions.delete_session(request.session_id, request.user_id)
        return Done()

    async def list_sessions(self, request: ListSessions) -> SessionPage:
        """A page of a user's sessions."""
        return await self.sessions.list_sessions(
            request.user_id, request.supp_id, request.text, request.limit, request.cursor
        )

    async def read_session(self, request: ReadSession) -> InteractionPage:
        """A session with a page of its interactions."""
        return await self.sessions.read_session(request.session_id, request.user_id, request.limit, request.cursor)

    async def get_interaction(self, request: GetInteraction) -> InteractionReply:
        """One interaction."""
        return await self.outcomes.interaction(request.question_id, request.user_id)


@dataclass(frozen=True)
class Replayer:
    """Publishes again what is on record."""

    outcomes: OutcomeStore
    bus: Bus

    async def replay_outcome(self, request: ReplayOutcome) -> Done:
        """The recorded outcome of a question, once more on the bus, under an id that no stream has seen."""
        event = await self.outcomes.outcome(request.question_id, request.asker)
        await self.bus.publish_raw(event.full_subject, event.model_dump_json().encode(), str(uuid4()))
        return Done()
