"""What the floor sends: the chain's own messages for one question, in which only the question's id changes."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from bench.stand_ins import KBS, PIECES, QUESTION, found
from citewire.contracts.answers import EntryKind, SourcesFrame
from citewire.contracts.events import QuestionAsked, RetrievalPlanned, RetrievalRequested, now
from citewire.contracts.evidence import SearchQuery
from citewire.contracts.identity import User
from citewire.contracts.sessions import InteractionStatus, SessionParams, SessionRef, new_session_id
from citewire.runtime.answer_log import encode_delta, encode_entry
from generator.citations.collect import collect_citations
from generator.evidence import Budget, build_evidence, collect_legs, judge_quality
from generator.outcome import Ending, done_frame, finished_interaction
from generator.settings import Settings

_ID = UUID("0198a5a0-0000-7000-8000-000000000000")
# Every payload begins with the question's id, behind this.
_ID_START = len('{"question_id":"')


def question_id(payload: bytes) -> str:
    """The id of the question that a payload is about."""
    return payload[_ID_START : _ID_START + len(str(_ID))].decode()


@dataclass(frozen=True)
class Messages:
    """Payloads by what they are, with a place holder for the id; log entries as they are written."""

    question: bytes
    plan: bytes
    requests: dict[str, bytes]
    results: dict[str, bytes]
    outcome: bytes
    record: str
    sources: str
    deltas: tuple[str, ...]
    end: str


def about(payload: bytes, question: str) -> bytes:
    """A payload for this question."""
    return payload.replace(str(_ID).encode(), question.encode())


def make_messages() -> Messages:
    """All messages of one question, made as the services make them."""
    asked = QuestionAsked(
        question_id=_ID,
        deadline=now() + timedelta(hours=1),
        asker="web",
        user=User(user_id="bench"),
        question=QUESTION,
        kb_ids=KBS,
    )
    plan = _plan(asked)
    requests = {kb_id: _request(plan, kb_id) for kb_id in KBS}
    results = {kb_id: found(request) for kb_id, request in requests.items()}
    evidence = build_evidence(list(results.values()), _budget())
    frame = SourcesFrame(
        question_id=_ID,
        queries=plan.queries,
        sources=evidence.sources,
        legs=collect_legs(KBS, results),
        quality=judge_quality(QUESTION, evidence.sources),
    )
    text = "".join(PIECES)
    timings = {"planning": 1.5, "retrieval": 1.5, "generation": 1.5, "total": 4.5}
    cited = collect_citations(text, (), frame.sources)
    done = done_frame(plan, frame, Ending(InteractionStatus.FINISHED), cited, timings)
    outcome = finished_interaction(plan, frame, text, done, now())
    return Messages(
        question=asked.model_dump_json().encode(),
        plan=plan.model_dump_json().encode(),
        requests={kb_id: request.model_dump_json().encode() for kb_id, request in requests.items()},
        results={kb_id: result.model_dump_json().encode() for kb_id, result in results.items()},
        outcome=outcome.model_dump_json().encode(),
        record=outcome.interaction.model_dump_json(),
        sources=encode_entry(EntryKind.SOURCES, frame),
        deltas=tuple(map(encode_delta, PIECES)),
        end=encode_entry(EntryKind.END, done).replace('"persisted":false', '"persisted":true', 1),
    )


def _plan(asked: QuestionAsked) -> RetrievalPlanned:
    params = SessionParams(kb_ids=KBS)
    return RetrievalPlanned(
        question_id=asked.question_id,
        deadline=asked.deadline,
        asker=asked.asker,
        user=asked.user,
        asked_at=asked.occurred_at,
        question=asked.question,
        session=SessionRef(session_id=new_session_id(_ID), is_new=True, title=QUESTION, params=params),
        params=params,
        queries=tuple(SearchQuery(query=QUESTION, kb_id=kb_id) for kb_id in KBS),
        kb_ids=KBS,
    )


def _request(plan: RetrievalPlanned, kb_id: str) -> RetrievalRequested:
    queries = tuple(query for query in plan.queries if query.kb_id == kb_id)
    return RetrievalRequested(question_id=_ID, deadline=plan.deadline, kb_id=kb_id, queries=queries, top_k=8)


def _budget() -> Budget:
    settings = Settings()
    return Budget(settings.characters_per_kb, settings.characters, settings.tokens, settings.max_sources)
