"""Small valid messages for tests; every field that a test does not name has a value that does not matter."""

from datetime import timedelta
from uuid import UUID, uuid4, uuid5

from citewire.contracts.events import RetrievalPlanned, SegmentsFound, now
from citewire.contracts.evidence import Leg, PageSpan, SearchQuery, Segment, Source
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.sessions import SessionParams, SessionRef, new_session_id

DOCUMENTS = UUID("00000000-0000-0000-0000-0000000000d0")


def knowledge_base(kb_id: str = "kb", **fields: object) -> KnowledgeBase:
    return KnowledgeBase.model_validate({"kb_id": kb_id, "title": kb_id, "created_at": now()} | fields)


def private(kb_id: str, *users: str, **fields: object) -> KnowledgeBase:
    """A knowledge base that only its owner, administrators and these users may read."""
    return knowledge_base(kb_id, access={"everyone": False, "users": users}, **fields)


def segment(text: str, *, kb_id: str = "kb", doc: str = "doc", start: int = 0, **fields: object) -> Segment:
    return Segment.model_validate(
        {
            "kb_id": kb_id,
            "doc_id": uuid5(DOCUMENTS, f"{kb_id}/{doc}"),
            "version": 1,
            "title": doc,
            "file_name": f"{doc}.txt",
            "document_type": "txt",
            "start": start,
            "end": start + len(text),
            "text": text,
            "score": 1.0,
            "first_chunk": 0,
            "last_chunk": 0,
        }
        | fields
    )


def source(number: int, text: str, *, start: int = 0, pages: tuple[PageSpan, ...] = (), **fields: object) -> Source:
    found = segment(text, doc=f"doc{number}", start=start)
    return Source.model_validate(found.model_dump() | {"number": number, "pages": pages} | fields)


def found(question_id: UUID, kb_id: str, *segments: Segment, error: str | None = None) -> SegmentsFound:
    leg = Leg(kb_id=kb_id, leg="lexical", hits=len(segments), error=error)
    return SegmentsFound(
        question_id=question_id, deadline=now(), kb_id=kb_id, segments=segments, legs=(leg,), error=error
    )


def planned(question: str = "How much did revenue grow?", *kb_ids: str, seconds: float = 60) -> RetrievalPlanned:
    question_id = uuid4()
    return RetrievalPlanned(
        question_id=question_id,
        deadline=now() + timedelta(seconds=seconds),
        asker="test",
        user=User(user_id="u"),
        asked_at=now(),
        question=question,
        session=SessionRef(
            session_id=new_session_id(question_id), is_new=True, title=question, params=SessionParams(kb_ids=kb_ids)
        ),
        params=SessionParams(kb_ids=kb_ids),
        queries=tuple(SearchQuery(query=question, kb_id=kb_id) for kb_id in kb_ids),
        kb_ids=kb_ids,
    )
