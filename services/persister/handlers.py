"""The stages: questions and outcomes are put on record; owners of sessions are answered."""

from dataclasses import dataclass

from citewire.contracts.answers import DoneFrame, EntryKind
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
    SessionContext,
    SessionPage,
    SessionReply,
)
from citewire.contracts.sessions import InteractionStatus, new_session_id
from citewire.runtime.answer_log import AnswerLog, encode_entry
from citewire.runtime.errors import Refusal
from persister.failures import end_of
from persister.store import ConversationStore


@dataclass(frozen=True)
class Recorder:
    """Puts events on record."""

    store: ConversationStore
    log: AnswerLog

    async def record_question(self, event: QuestionAsked) -> None:
        """The audit row."""
        await self.store.record_question(event)

    async def store_outcome(self, event: InteractionFinished) -> None:
        """Store the outcome, then tell the readers; a failure that no generator saw also ends the log."""
        is_stored = await self.store.store_outcome(event)
        if event.interaction.status is InteractionStatus.FAILED and not await self._was_answered(event):
            await self._end_log(event.user.user_id, end_of(event.interaction))
        if is_stored:
            await self.log.mark_stored(event.question_id)

    async def record_rejection(self, event: QuestionRejected) -> None:
        """Put a rejection on record, and end the log that somebody may be reading, unless an outcome was first."""
        if not await self.store.record_rejection(event):
            return
        end = DoneFrame(
            session_id=new_session_id(event.question_id),
            question_id=event.question_id,
            status=InteractionStatus.FAILED,
            degraded=event.problem.detail or event.problem.title,
        )
        await self._end_log(event.user.user_id if event.user else "", end)
        await self.log.mark_stored(event.question_id)

    async def _was_answered(self, event: InteractionFinished) -> bool:
        """Whether another outcome of the question was first, whose readers must not be told of a failure."""
        try:
            stored = await self.store.interaction(event.question_id, event.user.user_id)
        except Refusal:
            return False
        return stored.status not in {InteractionStatus.FAILED, InteractionStatus.PENDING}

    async def _end_log(self, user_id: str, end: DoneFrame) -> None:
        # Taking the lease fences a generator that may still be at it; an ended log refuses the entry.
        lease = await self.log.claim(end.question_id, user_id, 0)
        await self.log.append(lease, [encode_entry(EntryKind.END, end)], is_end=True)


@dataclass(frozen=True)
class Archivist:
    """Answers requests about conversations."""

    store: ConversationStore

    async def get_context(self, request: GetSessionContext) -> SessionContext:
        """A session and its newest turns."""
        return await self.store.context(request.session_id, request.user_id, request.turns)

    async def create_session(self, request: CreateSession) -> SessionReply:
        """A new session."""
        session = await self.store.create_session(request.session_id, request.user_id, request.title, request.params)
        return SessionReply(session=session)

    async def rename_session(self, request: RenameSession) -> SessionReply:
        """Another title."""
        session = await self.store.rename_session(request.session_id, request.user_id, request.title)
        return SessionReply(session=session)

    async def delete_session(self, request: DeleteSession) -> Done:
        """A session gone, with its interactions."""
        await self.store.delete_session(request.session_id, request.user_id)
        return Done()

    async def list_sessions(self, request: ListSessions) -> SessionPage:
        """A page of a user's sessions."""
        return await self.store.list_sessions(
            request.user_id, request.supp_id, request.text, request.limit, request.cursor
        )

    async def read_session(self, request: ReadSession) -> InteractionPage:
        """A session with a page of its interactions."""
        return await self.store.read_session(request.session_id, request.user_id, request.limit, request.cursor)

    async def get_interaction(self, request: GetInteraction) -> InteractionReply:
        """One interaction."""
        return InteractionReply(interaction=await self.store.interaction(request.question_id, request.user_id))
