"""Each event as the first release wrote it, with nothing but what was required then.

Never change one: an event on a stream may be older than the program that reads it. A new event gets a new entry.
"""

from typing import Any

QUESTION = "0198a5b0-0000-7000-8000-000000000001"
SESSION = "0198a5b0-0000-7000-8000-000000000002"
DOCUMENT = "0198a5b0-0000-7000-8000-000000000003"
TIME = "2026-01-02T03:04:05Z"

_QUESTION_EVENT = {"question_id": QUESTION, "deadline": TIME}
_DOCUMENT_EVENT = {"kb_id": "handbook", "doc_id": DOCUMENT, "version": 1}
_SESSION = {"session_id": SESSION, "is_new": True, "title": "Why?", "params": {}}
_USER = {"user_id": "alice"}

FIRST_PAYLOADS: dict[str, dict[str, Any]] = {
    "QuestionAsked": {**_QUESTION_EVENT, "asker": "billing", "user": _USER, "question": "Why?"},
    "QuestionRejected": {
        **_QUESTION_EVENT,
        "asker": "billing",
        "problem": {"type": "not-found", "title": "Not found", "status": 404},
    },
    "RetrievalPlanned": {
        **_QUESTION_EVENT,
        "asker": "billing",
        "user": _USER,
        "asked_at": TIME,
        "question": "Why?",
        "session": _SESSION,
        "params": {},
    },
    "RetrievalRequested": {
        **_QUESTION_EVENT,
        "kb_id": "handbook",
        "queries": [{"query": "Why?", "kb_id": "handbook"}],
        "top_k": 8,
    },
    "SegmentsFound": {**_QUESTION_EVENT, "kb_id": "handbook"},
    "InteractionFinished": {
        **_QUESTION_EVENT,
        "asker": "billing",
        "user": _USER,
        "session": _SESSION,
        "interaction": {
            "question_id": QUESTION,
            "session_id": SESSION,
            "status": "finished",
            "user_input": {"content": "Why?", "at": TIME},
        },
    },
    "DocumentOffered": {"kb_id": "handbook", "upload": "0f", "file_name": "a.txt"},
    "DocumentSubmitted": {**_DOCUMENT_EVENT, "upload": "0f", "file_name": "a.txt"},
    "DocumentIndexed": _DOCUMENT_EVENT,
    "DocumentFailed": {**_DOCUMENT_EVENT, "file_name": "a.txt", "reason": "the PDF is damaged"},
    "DocumentRemoved": _DOCUMENT_EVENT,
}
