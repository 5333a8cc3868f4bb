"""From a request to an accepted question: checked, opened once, published once."""

from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID, uuid5

from pydantic import Field
from uuid_utils.compat import uuid7

from citewire.contracts.events import MAX_QUESTION_CHARACTERS, QuestionAsked, now
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.model import Input
from citewire.contracts.providers import Purpose
from citewire.contracts.requests import GetInteraction, GetSessionContext, InteractionReply
from citewire.contracts.sessions import InteractionStatus, KbId, Session, SessionParams, SessionParamsInput
from citewire.runtime.admission import Admission
from citewire.runtime.answer_log import AnswerLog, AnswerState
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal, TransientError, conflict, invalid
from citewire.runtime.providers import Providers
from citewire.runtime.question_length import check_length
from citewire.runtime.registry import Registry
from citewire.text.normalise import clean
from gateway.permits import check_question_filters, check_scope
from gateway.pressure import Pressure

# Idempotency keys become question ids within this namespace and their user.
KEY_NAMESPACE = UUID("6f1a3c52-9f0e-4f6b-8f52-0f1c8a4be7d1")
# The longest that a question may go on without a reader, in seconds, once it is to stop then.
MAX_GRACE = 600

_RUNNING = (InteractionStatus.PENDING, InteractionStatus.STREAMING)


class Ask(Input):
    """A question; `kb_ids` is the scope of a new session, `session_id` continues one, `stream` false sends
    all text in one delta. `stop_after_disconnect` is in seconds without any reader; None: the answer is completed."""

    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)
    kb_ids: tuple[KbId, ...] | None = Field(default=None, max_length=64)
    session_id: UUID | None = None
    params: SessionParamsInput | None = None
    stream: bool = True
    stop_after_disconnect: float | None = Field(default=None, ge=0, le=MAX_GRACE)


@dataclass(frozen=True)
class Accepting:
    """Accepts questions for one gateway."""

    bus: Bus
    log: AnswerLog
    kbs: Registry[KnowledgeBase]
    admission: Admission
    pressure: Pressure
    providers: Providers
    asker: str

    async def accept(self, ask: Ask, user: User, key: str | None) -> UUID:
        """The id of the question, which runs once however often it is sent with the same key.

        One that runs or is on record is given back before anything is checked or counted. Raises Refusal: 404 unknown
        knowledge base or session, 409 same key for another question, 422, 429 over the user's limits, 503.
        """
        event = self._event(ask, user, key)
        if key is not None and await self._is_known(event):
            return event.question_id
        params, kb_ids = await self._check(ask, user)
        self.pressure.check({self.kbs.entries[kb_id].pool for kb_id in kb_ids if kb_id in self.kbs.entries})
        event = event.model_copy(update={"deadline": now() + params.answer_timeout})
        await self.admission.admit(user.user_id, event.question_id, event.deadline)
        await self._open(event, ask.stop_after_disconnect)
        return event.question_id

    def _event(self, ask: Ask, user: User, key: str | None) -> QuestionAsked:
        """What will be published, but for its deadline, which follows from the session."""
        question = clean(ask.question)
        if not question.strip():
            raise invalid("question", "is empty")
        return QuestionAsked(
            question_id=uuid7() if key is None else uuid5(KEY_NAMESPACE, f"{user.user_id}/{key}"),
            deadline=now(),
            asker=self.asker,
            user=user,
            question=question,
            session_id=ask.session_id,
            kb_ids=ask.kb_ids,
            params=ask.params,
        )

    async def _is_known(self, event: QuestionAsked) -> bool:
        """Whether the question runs or is on record; raises Refusal 409 when another one has its id."""
        state = await self._live_state(event.question_id)
        if state is None or not state.fingerprint:
            # The log forgets sooner than the database, which must answer: a second run could not be taken back.
            record = await self._record(event)
            if record is not None:
                _check_same(event, record.fingerprint)
            return record is not None
        _check_same(event, state.fingerprint)
        await self._publish_again(event, state)
        return True

    async def _live_state(self, question_id: UUID) -> AnswerState | None:
        """What Redis knows of a question; nothing while it is away: what is on record can be read without it."""
        try:
            return await self.log.state(question_id)
        except TransientError:
            return None

    async def _publish_again(self, event: QuestionAsked, state: AnswerState) -> None:
        """Publish what nobody has begun to answer: its first publication may have failed. A second is dropped."""
        if not (state.is_claimed or state.is_ended or await self._is_over(event)):
            await self.bus.publish(event.model_copy(update={"deadline": state.deadline}))

    async def _is_over(self, event: QuestionAsked) -> bool:
        try:
            record = await self._record(event)
        except TransientError:
            return False
        return record is not None and record.interaction.status not in _RUNNING

    async def _record(self, event: QuestionAsked) -> InteractionReply | None:
        """What is on record under the question's id, for its user."""
        try:
            return await self.bus.ask(GetInteraction(question_id=event.question_id, user_id=event.user.user_id))
        except Refusal as refusal:
            if refusal.problem.status != HTTPStatus.NOT_FOUND:
                raise
            return None

    async def _open(self, event: QuestionAsked, grace: float | None) -> None:
        """Open the answer's log, and publish the question; of two that come at once the second is dropped."""
        opening = await self.log.open(event.question_id, event.user.user_id, event.fingerprint, event.deadline, grace)
        if not opening.is_new:
            _check_same(event, opening.fingerprint)
        if not (opening.is_claimed or opening.is_ended):
            await self._publish(event)

    async def _publish(self, event: QuestionAsked) -> None:
        try:
            await self.bus.publish(event)
        except (Refusal, TransientError) as error:
            await self.admission.release(event.user.user_id, event.question_id)
            # Without an acknowledgement it may be on its stream all the same: then its log must be there.
            if isinstance(error, Refusal):
                await self.log.forget(event.question_id)
            raise

    async def _check(self, ask: Ask, user: User) -> tuple[SessionParams, Collection[KbId]]:
        """The parameters and knowledge bases of the question; raises Refusal where it can't be answered."""
        params: SessionParams = ask.params or SessionParams()
        kb_ids = _asked_kb_ids(ask)
        if ask.session_id is None:
            await check_scope(self.kbs, kb_ids, params.filters, user)
        else:
            session = await self._session(ask.session_id, user)
            _check_scope(ask, session)
            params, kb_ids = ask.params or session.params, session.kb_ids
            self._check_filters(params, session, user)
        check_length(ask.question, params, self.providers.entry(Purpose.ASK))
        return params, kb_ids

    def _check_filters(self, params: SessionParams, session: Session, user: User) -> None:
        # A knowledge base that is gone, or may no longer be read, is left out and named in the answer.
        known = [self.kbs.entries[kb_id] for kb_id in session.kb_ids if kb_id in self.kbs.entries]
        readable = {kb.kb_id: kb for kb in known if kb.is_readable_by(user)}
        check_question_filters(params.filters, session.kb_ids, readable)

    async def _session(self, session_id: UUID, user: User) -> Session:
        context = await self.bus.ask(GetSessionContext(session_id=session_id, user_id=user.user_id))
        return context.session


def _check_same(event: QuestionAsked, fingerprint: str) -> None:
    # An outcome may be on record a moment before its question; the id alone says already whose it is.
    if fingerprint not in ("", event.fingerprint):
        raise conflict("This idempotency key was used for another question.")


def _asked_kb_ids(ask: Ask) -> tuple[KbId, ...]:
    if ask.kb_ids is not None:
        return ask.kb_ids
    return ask.params.kb_ids if ask.params else ()


def _check_scope(ask: Ask, session: Session) -> None:
    asked = _asked_kb_ids(ask)
    if asked and set(asked) != set(session.kb_ids):
        field = "kb_ids" if ask.kb_ids is not None else "params.kb_ids"
        raise invalid(field, "a session keeps the knowledge bases that it began with")
