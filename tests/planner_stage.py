"""The planner without servers: what it is told, and what it publishes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from autoquery.handlers import Planner
from autoquery.settings import Settings
from autoquery.standing import Standings
from autoquery.stops import Stops
from citewire.contracts.events import QuestionAsked, now
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.requests import (
    Done,
    GetInteraction,
    GetSessionContext,
    InteractionReply,
    ReplayOutcome,
    Reply,
    Request,
    SessionContext,
)
from citewire.contracts.sessions import (
    Interaction,
    InteractionStatus,
    Session,
    SessionParams,
    Turn,
    UserInput,
    new_session_id,
)
from citewire.runtime.admission import Admission
from citewire.runtime.answer_log import AnswerLog, Opening
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal, TransientError, not_found
from citewire.runtime.providers import Providers
from citewire.runtime.registry import Registry
from model_stage import FixedProviders

ASKER = User(user_id="u", groups=("sales",))


class KnownKbs(Registry[KnowledgeBase]):
    """A register without a server."""

    def __init__(self, *kbs: KnowledgeBase) -> None:
        self._entries = {kb.kb_id: kb for kb in kbs}


class RecordingBus(Bus):
    """Keeps what is published and asked; the one session is the one given, and so is what is on record."""

    def __init__(self, context: SessionContext | None = None, record: InteractionReply | None = None) -> None:
        self.context = context
        self.record = record
        # How often what is on record still lacks its outcome.
        self.pending = 0
        self.published: list[Any] = []
        self.replayed: list[UUID] = []

    async def publish(self, event: Any) -> None:
        self.published.append(event)

    async def ask(self, request: Request[Any], timeout: float = 5.0) -> Reply:  # type: ignore[override] # noqa: ASYNC109 - the bus' own
        match request:
            case GetSessionContext() if self.context is not None:
                return self.context
            case GetInteraction() if self.record is not None:
                self.pending -= 1
                return self.record if self.pending < 0 else not_ended(self.record)
            case ReplayOutcome():
                self.replayed.append(request.question_id)
                return Done()
        raise not_found("such thing")


class KnownLog(AnswerLog):
    """The log in memory: what `noted` says of a question, else what was opened here; away if it is told so."""

    def __init__(self, noted: Opening | None = None, *, is_away: bool = False) -> None:
        self._noted = noted
        self._is_away = is_away
        self.stopped: list[UUID] = []

    async def open(
        self, question_id: UUID, user_id: str, fingerprint: str, deadline: datetime, grace: float | None = None
    ) -> Opening:
        if self._is_away:
            raise TransientError("Redis: away")
        opening = self._noted or Opening(is_new=True, user=user_id, fingerprint=fingerprint, is_claimed=False)
        self._noted = Opening(is_new=False, user=opening.user, fingerprint=opening.fingerprint, is_claimed=False)
        return opening

    async def request_stop(self, question_id: UUID) -> bool:
        self.stopped.append(question_id)
        return True


class Doorkeeper(Admission):
    """Counts the users that are let in; turns them away with the refusal given."""

    def __init__(self, refusal: Refusal | None = None) -> None:
        self._refusal = refusal
        self.admitted: list[str] = []

    async def admit(self, user_id: str, question_id: UUID, deadline: datetime) -> None:
        if self._refusal is not None:
            raise self._refusal
        self.admitted.append(user_id)


@dataclass
class Stage:
    """A planner and what surrounds it."""

    kbs: Sequence[KnowledgeBase] = ()
    bus: RecordingBus = field(default_factory=RecordingBus)
    log: KnownLog = field(default_factory=KnownLog)
    admission: Doorkeeper = field(default_factory=Doorkeeper)
    providers: Providers = field(default_factory=FixedProviders)
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        self.stops = Stops(self.log, ("web",))

    @property
    def planner(self) -> Planner:
        standings = Standings(self.bus, self.log)
        kbs = KnownKbs(*self.kbs)
        return Planner(self.bus, kbs, standings, self.stops, self.admission, self.providers, self.settings, ("web",))

    async def plan(self, event: QuestionAsked) -> list[Any]:
        """What is published for a question."""
        await self.planner.plan_retrieval(event)
        return self.bus.published


def asked(question: str = "Who leads it?", *, seconds: float = 60, **fields: Any) -> QuestionAsked:
    event = {"question_id": uuid4(), "deadline": now() + timedelta(seconds=seconds), "asker": "web", "user": ASKER}
    return QuestionAsked.model_validate(event | {"question": question} | fields)


def not_ended(record: InteractionReply) -> InteractionReply:
    """What is on record before the outcome is."""
    pending = record.interaction.model_copy(update={"status": InteractionStatus.PENDING})
    return record.model_copy(update={"interaction": pending})


def noted(event: QuestionAsked, **marks: bool) -> Opening:
    """What the log says of a question that was opened before."""
    fields = {"is_new": False, "is_claimed": False} | marks
    return Opening(user=event.user.user_id, fingerprint=event.fingerprint, **fields)


def on_record(event: QuestionAsked, status: InteractionStatus, fingerprint: str | None = None) -> InteractionReply:
    interaction = Interaction(
        question_id=event.question_id,
        session_id=new_session_id(event.question_id),
        status=status,
        user_input=UserInput(content=event.question, at=event.occurred_at),
    )
    return InteractionReply(
        interaction=interaction, fingerprint=event.fingerprint if fingerprint is None else fingerprint
    )


def session_of(*kb_ids: str) -> SessionContext:
    params = SessionParams(kb_ids=kb_ids)
    session = Session(
        session_id=uuid4(),
        user_id="u",
        title="t",
        params=params,
        kb_ids=kb_ids,
        created_at=now(),
        updated_at=now(),
    )
    return SessionContext(session=session, turns=(Turn(question="What is Heron?", answer="Ada's secret project."),))
