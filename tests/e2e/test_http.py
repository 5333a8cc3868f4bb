"""The HTTP interface as its users meet it: asking, following, sessions, errors."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import pytest

from documents import upload, wait_until_embedded
from frames import ask, follow, read_frames
from stack import Stack

BOOKING = "How far ahead should a trip be booked?"


def eventually(check: Callable[[], Any], timeout: float = 20.0) -> Any:
    """The first true result of a check that is repeated until then."""
    deadline = time.monotonic() + timeout
    while not (result := check()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)
    return result


def problem(response: httpx.Response) -> dict[str, Any]:
    assert response.headers["Content-Type"] == "application/problem+json", response.text
    body: dict[str, Any] = response.json()
    assert body["status"] == response.status_code
    return body


# Errors


def test_an_unknown_knowledge_base_is_404(user: httpx.Client) -> None:
    response = user.post("/v1/questions", json={"question": BOOKING, "kb_ids": ["nowhere"]})

    assert problem(response)["status"] == 404


@pytest.mark.parametrize("question", ["", " \n ", "\u0000", "x" * 4001])
def test_g05_an_empty_or_too_long_question_is_422_with_its_field(user: httpx.Client, question: str) -> None:
    response = user.post("/v1/questions", json={"question": question, "kb_ids": ["handbook"]})

    body = problem(response)
    assert (body["status"], body["errors"][0]["field"]) == (422, "question")


def test_g05_a_body_of_two_megabytes_is_413(user: httpx.Client) -> None:
    response = user.post("/v1/questions", json={"question": "x" * 2_000_000})

    assert problem(response)["status"] == 413


def test_a_question_over_the_history_budget_is_422(user: httpx.Client) -> None:
    body = {"question": "字 " * 200, "kb_ids": ["baike"], "params": {"max_chat_history_tokens": 50}}

    assert problem(user.post("/v1/questions", json=body))["errors"][0]["field"] == "question"


@pytest.mark.parametrize(
    ("params", "field"),
    [({"top_k": 0}, "params.top_k"), ({"temperature": "hot"}, "params.temperature"), ({"topk": 3}, "params.topk")],
)
def test_a_wrong_parameter_is_422_with_its_field(user: httpx.Client, params: dict[str, Any], field: str) -> None:
    response = user.post("/v1/questions", json={"question": BOOKING, "params": params})

    assert problem(response)["errors"][0]["field"] == field


def test_bad_json_is_400(user: httpx.Client) -> None:
    response = user.post("/v1/questions", content=b"{bad", headers={"Content-Type": "application/json"})

    assert problem(response)["status"] == 400


def test_an_unknown_session_is_404(user: httpx.Client) -> None:
    response = user.post("/v1/questions", json={"question": BOOKING, "session_id": str(uuid4())})

    assert problem(response)["status"] == 404


def test_a_wrong_key_is_401(stack: Stack) -> None:
    with stack.client("cw_wrong") as client:
        response = client.post("/v1/questions", json={"question": BOOKING})

    assert problem(response)["status"] == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_without_a_key_nothing_is_told(stack: Stack) -> None:
    for path in ("/v1/kbs", "/v1/sessions", "/v1/keys", f"/v1/questions/{uuid4()}"):
        assert httpx.get(f"{stack.base_url}{path}").status_code == 401


def test_an_unknown_path_is_a_problem_document(user: httpx.Client) -> None:
    assert problem(user.get("/v1/nothing"))["status"] == 404


# Asking


def test_without_a_knowledge_base_the_answer_says_so(user: httpx.Client) -> None:
    answer = ask(user, BOOKING)

    assert answer.sources["sources"] == []
    assert "No knowledge base" in answer.text


def test_a_question_that_nothing_answers_is_answered_honestly(user: httpx.Client) -> None:
    answer = ask(user, "zzyzx qwrtpl", kb_ids=["handbook"])

    assert answer.done["citations"] == []
    assert "no evidence" in answer.text


def test_g07_a_question_with_angle_brackets_is_kept_as_it_is(user: httpx.Client) -> None:
    question = "if a<b and c>d, what is booked?"

    answer = ask(user, question, kb_ids=["handbook"])

    assert user.get(f"/v1/questions/{answer.question_id}").json()["user_input"]["content"] == question


def test_g01_a_nul_in_a_question_is_dropped_and_the_rest_stored(user: httpx.Client) -> None:
    answer = ask(user, "trip\u0000 booking", kb_ids=["handbook"])

    assert user.get(f"/v1/questions/{answer.question_id}").json()["user_input"]["content"] == "trip booking"


def test_a01_the_stream_says_that_it_must_not_be_buffered_or_compressed(user: httpx.Client) -> None:
    accepted = {"Accept-Encoding": "gzip, br"}
    with user.stream("POST", "/v1/questions", json={"question": BOOKING}, headers=accepted) as response:
        headers = response.headers
        read_frames(response)

    assert "Content-Encoding" not in headers
    assert headers["Cache-Control"] == "no-cache, no-transform"
    assert headers["X-Accel-Buffering"] == "no"
    assert headers["Content-Type"] == "text/event-stream; charset=utf-8"


def test_respond_async_gives_202_and_the_stream_later(user: httpx.Client) -> None:
    response = user.post(
        "/v1/questions", json={"question": BOOKING, "kb_ids": ["handbook"]}, headers={"Prefer": "respond-async"}
    )

    assert response.status_code == 202
    assert follow(user, response.json()["question_id"]).done["status"] == "finished"


def test_a03_fifty_questions_at_once_all_get_sources_and_text(user: httpx.Client) -> None:
    # While vectors are still being made, two of them may find different passages.
    wait_until_embedded(user, "handbook")

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: ask(user, BOOKING, kb_ids=["handbook"]), range(50)))

    assert {answer.frames[0].event for answer in answers} == {"sources"}
    assert len({answer.text for answer in answers}) == 1


# Following


def test_a09_reconnecting_after_the_end_gives_the_rest_and_done(user: httpx.Client) -> None:
    answer = ask(user, BOOKING, kb_ids=["handbook"])

    again = follow(user, answer.question_id, after=2)

    assert again.frames == answer.frames[2:]


def test_a08_without_a_cursor_the_answer_starts_from_its_beginning(user: httpx.Client) -> None:
    answer = ask(user, BOOKING, kb_ids=["handbook"])

    assert follow(user, answer.question_id).frames == answer.frames


def test_a06_a_second_question_in_a_session_has_its_own_stream(user: httpx.Client) -> None:
    first = ask(user, BOOKING, kb_ids=["handbook"])
    second = ask(user, "Who pays for a laptop?", session_id=first.done["session_id"])

    assert second.frames[0].id == 1
    assert follow(user, first.question_id).text == first.text
    assert follow(user, second.question_id).text == second.text


def test_an_answer_of_somebody_else_does_not_exist(user: httpx.Client, admin: httpx.Client) -> None:
    answer = ask(admin, BOOKING, kb_ids=["handbook"])

    for path in ("", "/events"):
        assert user.get(f"/v1/questions/{answer.question_id}{path}").status_code == 404
    assert user.post(f"/v1/questions/{answer.question_id}/stop").status_code == 404


def test_stopping_an_ended_answer_changes_nothing(user: httpx.Client) -> None:
    answer = ask(user, BOOKING, kb_ids=["handbook"])

    assert user.post(f"/v1/questions/{answer.question_id}/stop").status_code == 202
    assert user.get(f"/v1/questions/{answer.question_id}").json()["status"] == "finished"


# Idempotency


def test_a12_the_same_key_is_one_run(user: httpx.Client) -> None:
    headers = {"Idempotency-Key": "same"}

    first = ask(user, BOOKING, kb_ids=["handbook"], headers=headers)
    second = ask(user, BOOKING, kb_ids=["handbook"], headers=headers)

    assert second.question_id == first.question_id
    assert second.frames == first.frames


def test_a13_the_same_key_with_another_question_is_409(user: httpx.Client) -> None:
    headers = {"Idempotency-Key": "other"}
    ask(user, BOOKING, kb_ids=["handbook"], headers=headers)

    response = user.post("/v1/questions", json={"question": "Why?", "kb_ids": ["handbook"]}, headers=headers)

    assert problem(response)["status"] == 409


# Sessions


def test_e04_a_follow_up_finds_what_it_refers_to(user: httpx.Client) -> None:
    first = ask(user, "亚马逊雨林的面积有多大？", kb_ids=["baike"])

    second = ask(user, "那它在哪些国家呢", session_id=first.done["session_id"])

    assert second.sources["queries"][0]["context"] == ["亚马逊雨林的面积有多大？"]
    assert any(source["title"] == "亚马逊雨林" for source in second.sources["sources"])
    assert second.done["history_turns"] == 1


def test_e04_an_english_follow_up_finds_what_it_refers_to(user: httpx.Client) -> None:
    first = ask(user, "What is the vulnerability management policy?", kb_ids=["handbook"])

    second = ask(user, "Who approved it?", session_id=first.done["session_id"])

    assert any("Vulnerability" in source["title"] for source in second.sources["sources"])


def test_e05_a_question_that_stands_alone_is_not_expanded(user: httpx.Client) -> None:
    first = ask(user, "亚马逊雨林的面积有多大？", kb_ids=["baike"])

    second = ask(user, "氧气最早是由哪一位科学家在什么时候什么地方独立发现的呢？", session_id=first.done["session_id"])

    assert second.sources["queries"][0]["context"] == []


def test_a_session_lists_its_interactions_oldest_first(user: httpx.Client) -> None:
    first = ask(user, BOOKING, kb_ids=["handbook"])
    second = ask(user, "Who pays for a laptop?", session_id=first.done["session_id"])

    page = user.get(f"/v1/sessions/{first.done['session_id']}").json()

    assert [item["question_id"] for item in page["interactions"]] == [first.question_id, second.question_id]
    assert page["session"]["title"] == BOOKING
    assert page["session"]["kb_ids"] == ["handbook"]


def test_c13_each_interaction_keeps_its_own_citations(user: httpx.Client) -> None:
    first = ask(user, BOOKING, kb_ids=["handbook"])
    second = ask(user, "Who pays for a laptop?", session_id=first.done["session_id"])

    page = user.get(f"/v1/sessions/{first.done['session_id']}").json()

    stored = [item["model_response"]["citations"] for item in page["interactions"]]
    assert stored == [first.done["citations"], second.done["citations"]]


def test_a_session_keeps_the_knowledge_bases_that_it_began_with(user: httpx.Client) -> None:
    first = ask(user, BOOKING, kb_ids=["handbook"])

    response = user.post(
        "/v1/questions", json={"question": "And?", "session_id": first.done["session_id"], "kb_ids": ["baike"]}
    )

    assert problem(response)["errors"][0]["field"] == "kb_ids"


def test_parameters_of_one_question_replace_the_stored_ones_only_once(user: httpx.Client) -> None:
    many = {"rse_params": {"minimum_value": 0, "max_length": 1}}
    stored = {"kb_ids": ["handbook"], "top_k": 3, **many}
    session = user.post("/v1/sessions", json={"params": stored}).json()
    body = {"session_id": session["session_id"]}

    once = ask(user, BOOKING, params={"top_k": 2, **many}, **body)
    again = ask(user, BOOKING, **body)

    assert (len(once.sources["sources"]), len(again.sources["sources"])) == (2, 3)


def test_a_session_of_somebody_else_does_not_exist(user: httpx.Client, admin: httpx.Client) -> None:
    session_id = ask(admin, BOOKING, kb_ids=["handbook"]).done["session_id"]

    assert user.get(f"/v1/sessions/{session_id}").status_code == 404
    assert user.patch(f"/v1/sessions/{session_id}", json={"title": "mine"}).status_code == 404
    assert user.delete(f"/v1/sessions/{session_id}").status_code == 404
    assert user.post("/v1/questions", json={"question": "x", "session_id": session_id}).status_code == 404


def test_sessions_are_listed_searched_renamed_and_deleted(user: httpx.Client) -> None:
    session_id = ask(user, BOOKING, kb_ids=["handbook"]).done["session_id"]

    user.patch(f"/v1/sessions/{session_id}", json={"title": "Travel 100%"})
    listed = user.get("/v1/sessions", params={"q": "100%"}).json()["sessions"]
    deleted = user.delete(f"/v1/sessions/{session_id}")

    assert [session["session_id"] for session in listed] == [session_id]
    assert deleted.status_code == 204
    assert user.get("/v1/sessions").json()["sessions"] == []


def test_sessions_come_in_pages(user: httpx.Client) -> None:
    for label in "abc":
        user.post("/v1/sessions", json={"title": label})

    first = user.get("/v1/sessions", params={"limit": 2}).json()
    second = user.get("/v1/sessions", params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [s["title"] for s in first["sessions"] + second["sessions"]] == ["c", "b", "a"]
    assert second["next_cursor"] is None


# Keys and browsers


def test_a_revoked_key_is_refused_at_once(admin: httpx.Client, stack: Stack) -> None:
    created = admin.post("/v1/keys", json={"user": "soon gone"}).json()

    admin.delete(f"/v1/keys/{created['entry']['key_id']}")

    with stack.client(created["key"]) as client:
        assert client.get("/v1/me").status_code == 401


def test_an_ordinary_user_administrates_nothing(user: httpx.Client) -> None:
    assert user.get("/v1/keys").status_code == 403
    assert user.post("/v1/keys", json={"user": "x"}).status_code == 403
    assert user.post("/v1/kbs", json={"kb_id": "mine", "title": "Mine"}).status_code == 403
    assert user.delete("/v1/kbs/handbook").status_code == 403


def test_a_browser_needs_its_origin_and_token_for_every_change(stack: Stack) -> None:
    with httpx.Client(base_url=stack.base_url) as browser:
        origin = {"Origin": stack.base_url}
        me = browser.post("/v1/sign-in", json={"key": stack.admin_key}, headers=origin)
        token = {"X-CSRF-Token": me.json()["csrf_token"]}

        cookie = me.headers["Set-Cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert browser.get("/v1/me").status_code == 200
        assert browser.post("/v1/sessions", json={}, headers=origin).status_code == 403
        assert browser.post("/v1/sessions", json={}, headers=token).status_code == 403
        evil = {"Origin": "https://evil.example", **token}
        assert browser.post("/v1/sessions", json={}, headers=evil).status_code == 403
        assert browser.post("/v1/sessions", json={}, headers=origin | token).status_code == 201


def test_signing_out_ends_the_browser_session(stack: Stack) -> None:
    with httpx.Client(base_url=stack.base_url) as browser:
        origin = {"Origin": stack.base_url}
        me = browser.post("/v1/sign-in", json={"key": stack.admin_key}, headers=origin).json()
        cookies = dict(browser.cookies)

        browser.post("/v1/sign-out", headers=origin | {"X-CSRF-Token": me["csrf_token"]})

        eventually(lambda: httpx.get(f"{stack.base_url}/v1/me", cookies=cookies).status_code == 401)


def test_the_page_allows_nothing_active_from_elsewhere(stack: Stack) -> None:
    policy = httpx.get(f"{stack.base_url}/").headers["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_interface_documents_itself(stack: Stack) -> None:
    assert "/v1/questions" in httpx.get(f"{stack.base_url}/openapi.json").json()["paths"]
    assert httpx.get(f"{stack.base_url}/docs").status_code == 200
    assert "QuestionAsked" in httpx.get(f"{stack.base_url}/asyncapi").json()["channels"]


# Documents


@pytest.fixture
def kb(admin: httpx.Client) -> str:
    kb_id = f"kb-{uuid4().hex[:12]}"
    admin.post("/v1/kbs", json={"kb_id": kb_id, "title": "A test"})
    return kb_id


def test_an_uploaded_document_answers_at_once(admin: httpx.Client, kb: str) -> None:
    document = upload(admin, kb, "moons.md", b"# Moons\n\nMars has two moons, Phobos and Deimos.\n")

    answer = ask(admin, "How many moons does Mars have?", kb_ids=[kb])

    assert (document["status"] in {"indexed", "embedded"}, document["version"]) == (True, 1)
    assert "Mars has two moons" in answer.text


def test_a_new_version_replaces_the_old_one(admin: httpx.Client, kb: str) -> None:
    upload(admin, kb, "price.txt", b"The price of the kettle is 20 euros.")
    document = upload(admin, kb, "price.txt", b"The price of the kettle is 25 euros.")

    answer = ask(admin, "What is the price of the kettle?", kb_ids=[kb])

    assert document["version"] == 2
    assert "25 euros" in answer.text
    assert "20 euros" not in answer.text


def test_d04_a_removed_document_is_gone_from_the_next_answer(admin: httpx.Client, kb: str) -> None:
    document = upload(admin, kb, "price.txt", b"The price of the kettle is 20 euros.")

    admin.delete(f"/v1/kbs/{kb}/documents/{document['doc_id']}")

    assert ask(admin, "What is the price of the kettle?", kb_ids=[kb]).sources["sources"] == []


def test_a_broken_document_fails_with_its_reason_and_loses_nothing_else(admin: httpx.Client, kb: str) -> None:
    upload(admin, kb, "good.txt", b"The kettle is blue.")

    document = upload(admin, kb, "bad.pdf", b"no pdf at all")

    assert document["status"] == "failed"
    assert document["reason"]
    assert "blue" in ask(admin, "Which colour is the kettle?", kb_ids=[kb]).text


def test_d08_a_text_file_has_no_page_anywhere(admin: httpx.Client, kb: str) -> None:
    document = upload(admin, kb, "kettle.txt", b"The kettle is blue.")
    path = f"/v1/kbs/{kb}/documents/{document['doc_id']}"

    answer = ask(admin, "Which colour is the kettle?", kb_ids=[kb])

    assert answer.sources["sources"][0]["pages"] == []
    assert answer.done["citations"][0]["page"] is None
    assert admin.get(f"{path}/pages/1").status_code == 404
    assert admin.get(f"{path}/text").json()["text"] == "The kettle is blue."


def test_d03_a_page_has_its_number_and_its_printed_label(admin: httpx.Client) -> None:
    documents = admin.get("/v1/kbs/handbook/documents").json()["documents"]
    pdf = next(document for document in documents if document["document_type"] == "pdf")

    page = admin.get(f"/v1/kbs/handbook/documents/{pdf['doc_id']}/pages/3").json()

    assert (page["page"]["number"], page["page"]["label"]) == (3, "1")


def test_e01_a_chinese_word_inside_a_clause_is_found(admin: httpx.Client, kb: str) -> None:
    upload(admin, kb, "动向.txt", "国际标准化动向".encode())

    segments = admin.post(f"/v1/kbs/{kb}/search", json={"query": "标准化"}).json()["segments"]

    assert segments[0]["score"] > 0


def test_h04_markup_in_a_document_stays_text(admin: httpx.Client, kb: str) -> None:
    upload(admin, kb, "evil.txt", b'The kettle <img src=x onerror=alert(1)> is "blue".')

    answer = ask(admin, "What colour is the kettle?", kb_ids=[kb])

    assert answer.sources["sources"][0]["text"] == 'The kettle <img src=x onerror=alert(1)> is "blue".'
    assert "<img" not in answer.text.replace("\\<img", "")


def test_a_leg_without_hits_says_why(admin: httpx.Client) -> None:
    admin.post("/v1/kbs", json={"kb_id": "words-only", "title": "Words only", "embedder": "none"}).raise_for_status()

    legs = ask(admin, BOOKING, kb_ids=["words-only"]).done["legs"]

    assert {leg["leg"]: leg["skipped"] for leg in legs}["dense"] == "no embedder is set"
