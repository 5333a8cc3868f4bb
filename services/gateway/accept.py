"""From a request to an accepted question: checked, opened once, published once."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from pydantic import Field
from uuid_utils.compat import uuid7

from citewire.contracts.events import MAX_QUESTION_CHARACTERS, QuestionAsked, now
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.model import Input
from citewire.contracts.requests import GetSessionContext
from citewire.contracts.sessions import KbId, Session, SessionParams, SessionParamsInput
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal, TransientError, conflict, invalid
from citewire.runtime.registry import Registry
from citewire.text.normalise import clean
from citewire.text.tokens import are_within
from gateway.permits import check_question_filters, check_scope
from gateway.stream import AnswerStreams

# Idempotency keys become question ids within this namespace and their user.
KEY_NAMESPACE = UUID("6f1a3c52-9f0e-4f6b-8f52-0f1c8a4be7d1")


class Ask(Input):
    """A question; `kb_ids` is the scope of a new session, `session_id` continues one, `stream` false sends
    all text in one delta."""

    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)
    kb_ids: tuple[KbId, ...] | None = Field(default=None, max_length=64)
    session_id: UUID | None = None
    params: SessionParamsInput | None = None
    stream: bool = True


@dataclass(frozen=True)
class Accepting:
    """Accepts questions for one gateway."""

    bus: Bus
    log: AnswerLog
    kbs: Registry[KnowledgeBase]
    streams: AnswerStreams
    asker: str

    async def accept(self, ask: Ask, user: User, key: str | None) -> UUID:
        """The id of the question, which runs once however often it is sent with the same key.

        Raises Refusal: 404 unknown knowledge base or session, 409 same key for another question, 422, 503.
        """
        question_id = uuid7() if key is None else uuid5(KEY_NAMESPACE, f"{user.user_id}/{key}")
        if key is not None and await self._is_stored(question_id, ask, user):
            return question_id
        params = await self._check(ask, user)
        body_hash = hashlib.sha256(ask.model_dump_json(exclude={"stream"}).encode()).hexdigest()
        opening = await self.log.open(question_id, user.user_id, body_hash)
        if opening.is_new:
            await self._publish(question_id, ask, user, now() + params.answer_timeout)
        elif opening.body_hash != body_hash:
            raise conflict("This idempotency key was used for another question.")
        return question_id

    async def _is_stored(self, question_id: UUID, ask: Ask, user: User) -> bool:
        """Whether the key's question is on record; the answer log forgets sooner than the database."""
        interaction = await self.streams.stored(question_id, user.user_id)
        if interaction is None:
            return False
        if interaction.user_input.content != clean(ask.question):
            raise conflict("This idempotency key was used for another question.")
        return True

    async def _check(self, ask: Ask, user: User) -> SessionParams:
        """The parameters that the question will be answered with; raises Refusal where it can't be."""
        if not clean(ask.question).strip():
            raise invalid("question", "is empty")
        params: SessionParams = ask.params or SessionParams()
        if ask.session_id is not None:
            session = await self._session(ask.session_id, user)
            _check_scope(ask, session)
            params = ask.params or session.params
            self._check_filters(params, session, user)
        else:
            await check_scope(self.kbs, _asked_kb_ids(ask), params.filters, user)
        _check_length(ask.question, params.max_chat_history_tokens)
        return params

    def _check_filters(self, params: SessionParams, session: Session, user: User) -> None:
        # A knowledge base that is gone, or may no longer be read, is left out and named in the answer.
        known = [self.kbs.entries[kb_id] for kb_id in session.kb_ids if kb_id in self.kbs.entries]
        readable = {kb.kb_id: kb for kb in known if kb.is_readable_by(user)}
        check_question_filters(params.filters, session.kb_ids, readable)

    async def _session(self, session_id: UUID, user: User) -> Session:
        context = await self.bus.ask(GetSessionContext(session_id=session_id, user_id=user.user_id))
        return context.session

    async def _publish(self, question_id: UUID, ask: Ask, user: User, deadline: datetime) -> None:
        event = QuestionAsked(
            question_id=question_id,
            deadline=deadline,
            asker=self.asker,
            user=user,
            question=clean(ask.question),
            session_id=ask.session_id,
            kb_ids=ask.kb_ids,
            params=ask.params,
        )
        try:
            await self.bus.publish(event)
        except (Refusal, TransientError):
            await self.log.forget(question_id)
            raise


def _asked_kb_ids(ask: Ask) -> tuple[KbId, ...]:
    if ask.kb_ids is not None:
        return ask.kb_ids
    return ask.params.kb_ids if ask.params else ()


def _check_scope(ask: Ask, session: Session) -> None:
    asked = _asked_kb_ids(ask)
    if asked and set(asked) != set(session.kb_ids):
        field = "kb_ids" if ask.kb_ids is not None else "params.kb_ids"
        raise invalid(field, "a session keeps the knowledge bases that it began with")


def _check_length(question: str, max_tokens: int) -> None:
    if not are_within([question], max_tokens):
        raise invalid("question", f"is longer than the {max_tokens} tokens of max_chat_history_tokens")
