"""Answers as the gateway sends them, for what a real one cannot be made to say."""

import json
from typing import Any

from playwright.sync_api import Page, Route

QUESTION_ID = "01890000-0000-7000-8000-000000000001"
SESSION_ID = "01890000-0000-7000-8000-000000000002"
DOC_ID = "01890000-0000-7000-8000-000000000003"

Frame = tuple[str, dict[str, Any]]


def source(number: int, text: str = "Some text.", **fields: Any) -> dict[str, Any]:
    """A source whose text begins at character 100 of its document."""
    return {
        "number": number,
        "kb_id": "handbook",
        "doc_id": DOC_ID,
        "version": 1,
        "title": f"Title {number}",
        "file_name": f"file-{number}.md",
        "document_type": "md",
        "section": "",
        "pages": [],
        "start": 100,
        "end": 100 + len(text),
        "text": text,
        "score": 1.0,
        **fields,
    }


def citation(answer: str, cited: dict[str, Any], quote: str, **fields: Any) -> dict[str, Any]:
    """The citation of the first `[n]` in an answer, with the place of its quote."""
    marker = f"[{cited['number']}]"
    start = cited["start"] + cited["text"].index(quote) if quote in cited["text"] else None
    quoted = {
        "answer_start": answer.index(marker),
        "answer_end": answer.index(marker) + len(marker),
        "cited_text": quote,
        "start": start,
        "end": None if start is None else start + len(quote),
        "page": None,
        "page_label": None,
        "verdict": "not_found" if start is None else "exact",
        "origin": "given",
        "pieces": [],
        **fields,
    }
    return {
        "number": cited["number"],
        "kb_id": cited["kb_id"],
        "doc_id": cited["doc_id"],
        "page": quoted["page"],
        "page_label": quoted["page_label"],
        "quotes": [quoted],
    }


def answer(text: str | list[str], sources: list[dict[str, Any]], **done: Any) -> list[Frame]:
    """The frames of an answer; `done` replaces fields of the last one."""
    quality = {"level": "ok", "reason": ""}
    head = {"question_id": QUESTION_ID, "queries": [], "sources": sources, "legs": [], "quality": quality}
    end = {
        "session_id": SESSION_ID,
        "question_id": QUESTION_ID,
        "status": "finished",
        "persisted": True,
        "citations": [],
        "dangling_citations": [],
        "history_turns": 0,
        "quality": quality,
        "degraded": None,
        "legs": [],
        "elapsed_ms": {"total": 5.0},
        **done,
    }
    deltas = [text] if isinstance(text, str) else text
    return [
        ("sources", {**head, "degraded": None}),
        *(("delta", {"text": delta}) for delta in deltas),
        ("done", end),
    ]


def events(frames: list[Frame], first: int = 1) -> str:
    """Frames as server-sent events, numbered from `first`."""
    lines = [
        f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n"
        for number, (kind, data) in enumerate(frames, first)
    ]
    return "".join(lines)


def stream(route: Route, body: str) -> None:
    """Answer a request with an event stream that ends after `body`."""
    headers = {"Content-Type": "text/event-stream; charset=utf-8", "X-Question-Id": QUESTION_ID}
    route.fulfill(status=200, headers=headers, body=body)


def script(page: Page, frames: list[Frame]) -> None:
    """Let the next questions of a page be answered with these frames."""
    page.route("**/v1/questions", lambda route: stream(route, events(frames)))
