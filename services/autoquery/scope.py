"""Which session and which knowledge bases a question is about, and with which parameters."""

from collections.abc import Container
from dataclasses import dataclass

from citewire.contracts.events import QuestionAsked
from citewire.contracts.requests import SessionContext
from citewire.contracts.sessions import SessionParams, SessionRef, new_session_id
from citewire.runtime.errors import invalid, not_found
from citewire.text.titles import session_title


@dataclass(frozen=True)
class Scope:
    """The session, the parameters of this question, the knowledge bases to search, and those that are gone."""

    session: SessionRef
    params: SessionParams
    kb_ids: tuple[str, ...]
    removed_kb_ids: tuple[str, ...] = ()


def resolve_scope(event: QuestionAsked, known: Container[str], context: SessionContext | None) -> Scope:
    """Decide scope and parameters; raises Refusal: 404 for an unknown knowledge base, 422 for another scope."""
    return _new_session(event, known) if context is None else _open_session(event, known, context)


def _new_session(event: QuestionAsked, known: Container[str]) -> Scope:
    params = event.params or SessionParams()
    kb_ids = _distinct(params.kb_ids if event.kb_ids is None else event.kb_ids)
    for kb_id in kb_ids:
        if kb_id not in known:
            raise not_found(f"knowledge base: {kb_id}")
    session = SessionRef(
        session_id=new_session_id(event.question_id),
        is_new=True,
        title=session_title(event.question),
        # Parameters of one question are not stored with its session; its scope is.
        params=SessionParams(kb_ids=kb_ids),
    )
    return Scope(session, params, kb_ids)


def _open_session(event: QuestionAsked, known: Container[str], context: SessionContext) -> Scope:
    stored = context.session
    scope = _distinct(stored.params.kb_ids)
    asked = event.kb_ids if event.kb_ids is not None else (event.params.kb_ids if event.params else ())
    if asked and set(asked) != set(scope):
        raise invalid("kb_ids", "a session keeps the knowledge bases that it began with")
    session = SessionRef(
        session_id=stored.session_id,
        is_new=False,
        title=stored.title or session_title(event.question),
        params=stored.params,
    )
    return Scope(
        session,
        event.params or stored.params,
        tuple(kb_id for kb_id in scope if kb_id in known),
        tuple(kb_id for kb_id in scope if kb_id not in known),
    )


def _distinct(kb_ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kb_ids))
