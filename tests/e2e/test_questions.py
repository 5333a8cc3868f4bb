"""Fifty real questions over the sample knowledge bases, sixteen at a time, over HTTP."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from frames import Answer, ask
from stack import Stack

QUESTIONS = [
    json.loads(line) for line in (Path(__file__).parent / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="session")
def answers(stack: Stack) -> dict[str, Answer]:
    """All fifty, asked at concurrency 16."""
    with stack.client() as client, ThreadPoolExecutor(16) as pool:
        asked = pool.map(lambda q: ask(client, q["question"], kb_ids=q["kb_ids"]), QUESTIONS)
        return {question["id"]: answer for question, answer in zip(QUESTIONS, asked, strict=True)}


def ids(question: dict[str, Any]) -> str:
    return str(question["id"])


each = pytest.mark.parametrize("question", QUESTIONS, ids=ids)


def test_there_are_fifty_questions_in_two_languages() -> None:
    assert (sum(q["id"].startswith("en") for q in QUESTIONS), len(QUESTIONS)) == (25, 50)


@each
def test_frames_come_in_order_and_ids_have_no_gaps(question: dict[str, Any], answers: dict[str, Answer]) -> None:
    frames = answers[question["id"]].frames

    events = [frame.event for frame in frames]
    assert events == ["sources", *["delta"] * (len(frames) - 2), "done"]
    assert [frame.id for frame in frames] == list(range(1, len(frames) + 1))


@each
def test_every_citation_is_exact_and_none_dangles(question: dict[str, Any], answers: dict[str, Answer]) -> None:
    done = answers[question["id"]].done

    verdicts = {quote["verdict"] for citation in done["citations"] for quote in citation["quotes"]}
    assert verdicts == {"exact"}
    assert done["dangling_citations"] == []


@each
def test_every_quote_stands_in_its_source_and_its_marker_in_the_answer(
    question: dict[str, Any], answers: dict[str, Answer]
) -> None:
    answer = answers[question["id"]]
    sources = {source["number"]: source for source in answer.sources["sources"]}

    for citation in answer.done["citations"]:
        source = sources[citation["number"]]
        for quote in citation["quotes"]:
            offset = quote["start"] - source["start"]
            assert source["text"][offset : offset + len(quote["cited_text"])] == quote["cited_text"]
            assert answer.text[quote["answer_start"] : quote["answer_end"]] == f"[{citation['number']}]"


@each
def test_the_stored_interaction_equals_the_stream(
    question: dict[str, Any], answers: dict[str, Answer], stack: Stack
) -> None:
    answer = answers[question["id"]]
    with stack.client() as client:
        stored = client.get(f"/v1/questions/{answer.question_id}").json()

    assert answer.done["persisted"] is True
    assert stored["model_response"]["content"] == answer.text
    assert stored["model_response"]["citations"] == answer.done["citations"]
    assert stored["sources"] == answer.sources["sources"]


def test_most_answers_hold_the_fact_asked_for(answers: dict[str, Answer]) -> None:
    found = [q["id"] for q in QUESTIONS if q["answer"] in "".join(answers[q["id"]].text.split("\\"))]

    assert len(found) >= 35, sorted({q["id"] for q in QUESTIONS} - set(found))


def test_answers_from_a_pdf_name_its_page(answers: dict[str, Answer]) -> None:
    paged = [q for q in QUESTIONS if "page" in q]

    cited = {
        q["id"]: {quote["page"] for c in answers[q["id"]].done["citations"] for quote in c["quotes"]} for q in paged
    }
    assert sum(q["page"] in cited[q["id"]] for q in paged) >= len(paged) - 2, cited


def test_c24_b12_stream_false_is_the_same_answer_in_one_delta(admin: httpx.Client) -> None:
    question = QUESTIONS[0]

    streamed = ask(admin, question["question"], kb_ids=question["kb_ids"])
    whole = ask(admin, question["question"], kb_ids=question["kb_ids"], stream=False)

    assert [frame.event for frame in whole.frames] == ["sources", "delta", "done"]
    assert whole.text == streamed.text
    changing = {"elapsed_ms", "question_id", "session_id", "legs"}
    assert {k: v for k, v in whole.done.items() if k not in changing} == {
        k: v for k, v in streamed.done.items() if k not in changing
    }
