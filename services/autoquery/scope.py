"""Which session and which knowledge bases a question is about, and with which parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citewire.contracts.events import QuestionAsked
from citewire.contracts.filters import FilterProblem
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase, check_filters
from citewire.contracts.requests import SessionContext
from citewire.contracts.sessions import SessionParams, SessionRef, Turn, new_session_id
from citewire.runtime.errors import invalid, not_found
from citewire.text.titles import session_title


@dataclass(frozen=True)
class Scope:
    """The session, the parameters of this question, the knowledge bases to search, and those that are gone.

    Gone are removed ones, and those that the asker may no longer read.
    """

    session: SessionRef
    params: SessionParams
    kbs: tuple[KnowledgeBase, ...]
    gone_kb_ids: tuple[str, ...] = ()

    @property
    def kb_ids(self) -> tuple[str, ...]:
        """The ids of the knowledge bases to search."""
        return tuple(kb.kb_id for kb in self.kbs)


def resolve_scope(event: QuestionAsked, register: Mapping[str, KnowledgeBase], context: SessionContext | None) -> Scope:
    """Decide scope and parameters; raises Refusal: 404 for a knowledge base that the asker may not read, 422 for
    another scope than the session's and for filters that do not fit.
    """
    return _new_session(event, register) if context is None else _open_session(event, register, context)


def usable_turns(turns: Sequence[Turn], scope: Scope) -> tuple[Turn, ...]:
    """Earlier turns; without their answers when these may tell what stood in a knowledge base that is gone."""
    if not scope.gone_kb_ids:
        return tuple(turns)
    return tuple(turn.model_copy(update={"answer": ""}) for turn in turns)


def _new_session(event: QuestionAsked, register: Mapping[str, KnowledgeBase]) -> Scope:
    params = event.params or SessionParams()
    kb_ids = _distinct(event.scope)
    readable = _readable(kb_ids, register, event.user)
    for kb_id in kb_ids:
        if kb_id not in readable:
            raise not_found(f"knowledge base: {kb_id}")
    session = SessionRef(
        session_id=new_session_id(event.question_id),
        is_new=True,
        title=session_title(event.question),
        # Parameters of one question are not stored with its session; its scope is.
        params=SessionParams(kb_ids=kb_ids),
    )
    return _scope(session, params, kb_ids, readable)


def _open_session(event: QuestionAsked, register: Mapping[str, KnowledgeBase], context: SessionContext) -> Scope:
    stored = context.session
    kb_ids = _distinct(stored.params.kb_ids)
    asked = event.kb_ids if event.kb_ids is not None else (event.params.kb_ids if event.params else ())
    if asked and set(asked) != set(kb_ids):
        raise invalid("kb_ids", "a session keeps the knowledge bases that it began with")
    session = SessionRef(
        session_id=stored.session_id,
        is_new=False,
        title=stored.title or session_title(event.question),
        params=stored.params,
    )
    return _scope(session, event.params or stored.params, kb_ids, _readable(kb_ids, register, event.user))


def _scope(
    session: SessionRef, params: SessionParams, kb_ids: Sequence[str], readable: Mapping[str, KnowledgeBase]
) -> Scope:
    try:
        check_filters(params.filters, kb_ids, readable)
    except FilterProblem as problem:
        raise invalid(problem.field, problem.message) from problem
    return Scope(
        session,
        params,
        tuple(readable[kb_id] for kb_id in kb_ids if kb_id in readable),
        tuple(kb_id for kb_id in kb_ids if kb_id not in readable),
    )


def _readable(kb_ids: Sequence[str], register: Mapping[str, KnowledgeBase], user: User) -> dict[str, KnowledgeBase]:
    kbs = {kb_id: register[kb_id] for kb_id in kb_ids if kb_id in register}
    return {kb_id: kb for kb_id, kb in kbs.items() if kb.is_readable_by(user)}


def _distinct(kb_ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kb_ids))
