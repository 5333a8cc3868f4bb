"""Who sees which knowledge base, in every place where one can be named, and what becomes of old answers."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import nats
import pytest

from documents import upload
from frames import ask
from stack import Stack

FACT = b"Project Heron is led by Ada Lovelace."
QUESTION = "Who leads Project Heron?"
TITLE = "Secret projects"


@pytest.fixture(scope="module")
def clients(stack: Stack) -> Iterator[dict[str, httpx.Client]]:
    """Clients of an administrator, an owner, a member of a group and a stranger."""
    with stack.client() as admin:
        people = {"owner": [], "member": ["birds"], "stranger": []}
        keys = {
            name: admin.post("/v1/keys", json={"user": name, "groups": groups}).json()["key"]
            for name, groups in people.items()
        }
        opened = {name: stack.client(key) for name, key in keys.items()}
        yield {"admin": admin, **opened}
        for client in opened.values():
            client.close()


@pytest.fixture
def admin(clients: dict[str, httpx.Client]) -> httpx.Client:
    return clients["admin"]


@pytest.fixture
def owner(clients: dict[str, httpx.Client]) -> httpx.Client:
    return clients["owner"]


@pytest.fixture
def member(clients: dict[str, httpx.Client]) -> httpx.Client:
    return clients["member"]


@pytest.fixture
def stranger(clients: dict[str, httpx.Client]) -> httpx.Client:
    return clients["stranger"]


def create_kb(admin: httpx.Client, **settings: Any) -> str:
    kb_id = f"kb-{uuid4().hex[:12]}"
    response = admin.post("/v1/kbs", json={"kb_id": kb_id, "title": TITLE, "embedder": "none", **settings})
    assert response.status_code == 201, response.text
    return kb_id


@pytest.fixture
def secret(admin: httpx.Client, owner: httpx.Client) -> str:
    """A knowledge base of `owner` that the group `birds` may read, with one document."""
    kb_id = create_kb(admin, owner="owner", access={"everyone": False, "groups": ["birds"]})
    upload(owner, kb_id, "heron.txt", FACT)
    return kb_id


def problem(response: httpx.Response) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    return body


def fields(response: httpx.Response) -> list[str]:
    """The fields that a 422 names."""
    assert response.status_code == 422, response.text
    return [error["field"] for error in problem(response)["errors"]]


def only_interaction(client: httpx.Client, session_id: str) -> dict[str, Any]:
    (interaction,) = client.get(f"/v1/sessions/{session_id}").json()["interactions"]
    assert isinstance(interaction, dict)
    return interaction


# What is not yours does not exist (E08)


def test_e08_a_knowledge_base_of_others_is_not_listed(
    member: httpx.Client, stranger: httpx.Client, secret: str
) -> None:
    seen = {name: client.get("/v1/kbs").text for name, client in (("member", member), ("stranger", stranger))}

    assert secret in seen["member"]
    assert secret not in seen["stranger"]
    assert TITLE not in seen["stranger"]


def test_e08_every_way_to_name_a_knowledge_base_of_others_is_404(stranger: httpx.Client, secret: str) -> None:
    path = f"/v1/kbs/{secret}"
    body = {"question": QUESTION}

    answers = [
        stranger.get(path),
        stranger.patch(path, json={"title": "Mine"}),
        stranger.delete(path),
        stranger.get(f"{path}/embedding"),
        stranger.get(f"{path}/contexts"),
        stranger.post(f"{path}/contexts"),
        stranger.get(f"{path}/documents"),
        stranger.post(f"{path}/documents", files={"file": ("a.txt", b"x")}),
        stranger.get(f"{path}/documents/{uuid4()}"),
        stranger.delete(f"{path}/documents/{uuid4()}"),
        stranger.get(f"{path}/documents/{uuid4()}/pages/1"),
        stranger.get(f"{path}/documents/{uuid4()}/text"),
        stranger.post(f"{path}/search", json={"query": "heron"}),
        stranger.post("/v1/questions", json={**body, "kb_ids": [secret]}),
        stranger.post("/v1/questions", json={**body, "kb_ids": ["handbook", secret]}),
        stranger.post("/v1/questions", json={**body, "params": {"kb_ids": [secret]}}),
        stranger.post("/v1/sessions", json={"params": {"kb_ids": [secret]}}),
    ]

    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert not any(word in answer.text for answer in answers for word in (TITLE, "Heron", "heron.txt"))


def test_e08_a_knowledge_base_of_others_looks_like_none_at_all(stranger: httpx.Client, secret: str) -> None:
    theirs, none = stranger.get(f"/v1/kbs/{secret}"), stranger.get("/v1/kbs/kb-nowhere")

    assert theirs.text.replace(secret, "…") == none.text.replace("kb-nowhere", "…")


async def test_e08_a_service_may_not_ask_for_a_user_what_that_user_may_not(stack: Stack, secret: str) -> None:
    service = await nats.connect(stack.nats_url())
    rejections = await service.subscribe("qa.v1.question.rejected.robot")
    event = {
        "question_id": str(uuid4()),
        "deadline": (datetime.now(UTC) + timedelta(seconds=60)).isoformat(),
        "asker": "robot",
        "user": {"user_id": "stranger"},
        "question": QUESTION,
        "kb_ids": [secret],
    }

    await service.jetstream().publish("qa.v1.question.asked.robot", json.dumps(event).encode())
    rejection = (await rejections.next_msg(timeout=20)).data
    await service.close()

    assert json.loads(rejection)["problem"]["status"] == 404
    assert TITLE.encode() not in rejection


async def test_e08_a_request_past_the_planner_gives_no_segment(stack: Stack, secret: str) -> None:
    service = await nats.connect(stack.nats_url())
    question_id = str(uuid4())
    found = await service.subscribe(f"qa.v1.segments.found.{question_id}.*")
    event = {
        "question_id": question_id,
        "deadline": (datetime.now(UTC) + timedelta(seconds=20)).isoformat(),
        "kb_id": secret,
        "queries": [{"query": QUESTION, "kb_id": secret}],
        "top_k": 8,
        "user": {"user_id": "stranger"},
    }

    await service.jetstream().publish(f"qa.v1.retrieval.requested.default.{secret}", json.dumps(event).encode())
    reply = json.loads((await found.next_msg(timeout=20)).data)
    await service.close()

    assert (reply["segments"], [leg["hits"] for leg in reply["legs"]]) == ([], [0, 0])
    assert reply["error"]


# What a reader may not do


def test_a_reader_may_ask_and_change_nothing(member: httpx.Client, secret: str) -> None:
    path = f"/v1/kbs/{secret}"

    answers = [
        member.patch(path, json={"title": "Mine"}),
        member.delete(path),
        member.post(f"{path}/documents", files={"file": ("a.txt", b"x")}),
        member.delete(f"{path}/documents/{uuid4()}"),
    ]

    assert [answer.status_code for answer in answers] == [403] * len(answers)
    assert "Ada Lovelace" in ask(member, QUESTION, kb_ids=[secret]).text


def test_a_reader_does_not_learn_who_else_may_read(owner: httpx.Client, member: httpx.Client, secret: str) -> None:
    assert owner.get(f"/v1/kbs/{secret}").json()["access"]["groups"] == ["birds"]
    assert member.get(f"/v1/kbs/{secret}").json()["access"] == {"everyone": False, "users": [], "groups": []}


def test_an_owner_manages_documents_and_settings_but_not_the_ownership(owner: httpx.Client, secret: str) -> None:
    path = f"/v1/kbs/{secret}"

    changed = owner.patch(path, json={"description": "Birds", "access": {"everyone": True}})
    given_away = owner.patch(path, json={"owner": "member"})

    assert changed.json()["description"] == "Birds"
    assert owner.get(path).json()["access"]["everyone"] is True
    assert given_away.status_code == 403


# When access is revoked (E09)


def revoke(owner: httpx.Client, kb_id: str) -> None:
    assert owner.patch(f"/v1/kbs/{kb_id}", json={"access": {"everyone": False}}).status_code == 200


def test_e09_a_follow_up_after_the_revocation_finds_nothing_and_names_no_title(
    owner: httpx.Client, member: httpx.Client, secret: str
) -> None:
    session_id = ask(member, QUESTION, kb_ids=[secret]).done["session_id"]
    revoke(owner, secret)

    answer = ask(member, "And who leads it now?", session_id=session_id)

    assert answer.sources["sources"] == []
    assert answer.done["degraded"] == f"no longer there: {secret}"
    assert not any(word in json.dumps([f.data for f in answer.frames]) for word in (TITLE, "Ada Lovelace"))


def test_e09_the_scope_of_a_session_is_not_widened_by_a_revocation(
    admin: httpx.Client, owner: httpx.Client, member: httpx.Client, secret: str
) -> None:
    other = create_kb(admin)
    upload(admin, other, "heron.txt", b"Project Heron is led by nobody.")
    session_id = ask(member, QUESTION, kb_ids=[secret]).done["session_id"]
    revoke(owner, secret)

    answer = ask(member, QUESTION, session_id=session_id)

    assert answer.sources["sources"] == []


def test_e09_an_old_answer_from_it_is_withheld(owner: httpx.Client, member: httpx.Client, secret: str) -> None:
    session_id = ask(member, QUESTION, kb_ids=[secret]).done["session_id"]
    revoke(owner, secret)

    interaction = only_interaction(member, session_id)

    (source,) = interaction["sources"]
    assert (source["state"], source["text"], source["title"], source["file_name"]) == ("withheld", "", "", "")
    assert (interaction["model_response"]["content"], interaction["withheld"]) == ("", [secret])
    assert not any(word in json.dumps(interaction) for word in ("Ada Lovelace", "heron.txt", TITLE))


def test_e09_an_old_answer_comes_back_with_the_access(owner: httpx.Client, member: httpx.Client, secret: str) -> None:
    session_id = ask(member, QUESTION, kb_ids=[secret]).done["session_id"]
    revoke(owner, secret)

    owner.patch(f"/v1/kbs/{secret}", json={"access": {"everyone": True}})

    assert "Ada Lovelace" in only_interaction(member, session_id)["model_response"]["content"]


# Only what was chosen (E11)


def test_e11_a_session_is_answered_from_its_own_knowledge_base_only(admin: httpx.Client, member: httpx.Client) -> None:
    chosen, other = create_kb(admin), create_kb(admin)
    upload(admin, chosen, "heron.txt", FACT)
    upload(admin, other, "heron.txt", b"Project Heron is led by Charles Babbage.")

    answer = ask(member, QUESTION, kb_ids=[chosen])
    again = ask(member, QUESTION, session_id=answer.done["session_id"])

    assert {source["kb_id"] for each in (answer, again) for source in each.sources["sources"]} == {chosen}
    assert "Babbage" not in answer.text + again.text


# What an old answer cites (D04)


@pytest.mark.parametrize("way", ["removed", "changed"])
def test_d04_an_old_answer_keeps_its_passage_and_says_what_became_of_the_document(
    admin: httpx.Client, member: httpx.Client, way: str
) -> None:
    kb_id = create_kb(admin)
    document = upload(admin, kb_id, "heron.txt", FACT)
    session_id = ask(member, QUESTION, kb_ids=[kb_id]).done["session_id"]
    before = only_interaction(member, session_id)["sources"][0]["state"]

    if way == "removed":
        admin.delete(f"/v1/kbs/{kb_id}/documents/{document['doc_id']}")
    else:
        upload(admin, kb_id, "heron.txt", b"Project Heron is led by nobody any more.")

    interaction = only_interaction(member, session_id)
    assert (before, interaction["sources"][0]["state"]) == ("current", way)
    assert "Ada Lovelace" in interaction["sources"][0]["text"]
    assert "Ada Lovelace" in interaction["model_response"]["content"]


def test_d04_the_answer_of_a_removed_knowledge_base_is_marked_as_removed(
    admin: httpx.Client, member: httpx.Client
) -> None:
    kb_id = create_kb(admin)
    upload(admin, kb_id, "heron.txt", FACT)
    session_id = ask(member, QUESTION, kb_ids=[kb_id]).done["session_id"]

    admin.delete(f"/v1/kbs/{kb_id}")

    assert only_interaction(member, session_id)["sources"][0]["state"] == "removed"


# Settings, metadata and filters


def test_all_settings_are_kept_and_read_back(admin: httpx.Client) -> None:
    settings = {
        "title": "价目",
        "description": "Prices",
        "language": "zh",
        "owner": "owner",
        "access": {"everyone": False, "users": ["member"], "groups": ["birds"]},
        "metadata_schema": {"year": "number", "day": "date"},
        "retrieval": {
            "mode": "chunks",
            "rse_params": "precision",
            "dense_weight": 0.2,
            "cross_script_dense_weight": 0.9,
            "time_limit": 2.5,
        },
        "embedder": "none",
        "reranker": "",
        "pool": "default",
    }

    kb = admin.get(f"/v1/kbs/{create_kb(admin, **settings)}").json()

    assert {name: kb[name] for name in settings} == settings


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"embedder": "unheard"}, "embedder"),
        ({"reranker": "unheard"}, "reranker"),
        ({"metadata_schema": {"title": "text"}}, "metadata_schema"),
        ({"metadata_schema": {"year": "integer"}}, "metadata_schema.year"),
        ({"retrieval": {"rse_params": "unheard"}}, "retrieval.rse_params"),
        ({"titel": "x"}, "titel"),
        ({"title": ""}, "title"),
    ],
)
def test_a_wrong_setting_is_422_with_its_field(admin: httpx.Client, settings: dict[str, Any], field: str) -> None:
    kb_id = create_kb(admin)

    created = admin.post("/v1/kbs", json={"kb_id": "kb-wrong", "title": "x", **settings})
    changed = admin.patch(f"/v1/kbs/{kb_id}", json=settings)

    assert (fields(created), fields(changed)) == ([field], [field])


@pytest.mark.parametrize(
    ("metadata", "field"),
    [('{"year": "soon"}', "metadata.year"), ('{"month": 1}', "metadata.month"), ("[1]", "metadata"), ("{", "metadata")],
)
def test_wrong_metadata_is_422_with_its_field(admin: httpx.Client, metadata: str, field: str) -> None:
    kb_id = create_kb(admin, metadata_schema={"year": "number"})

    sent = admin.post(f"/v1/kbs/{kb_id}/documents", files={"file": ("a.txt", b"x")}, data={"metadata": metadata})

    assert fields(sent) == [field]
    assert admin.get(f"/v1/kbs/{kb_id}/documents").json()["documents"] == []


def test_a_question_with_a_filter_uses_matching_documents_only(admin: httpx.Client, member: httpx.Client) -> None:
    kb_id = create_kb(admin, metadata_schema={"year": "number"})
    upload(admin, kb_id, "old.txt", b"Project Heron is led by Charles Babbage.", {"year": 1999})
    upload(admin, kb_id, "new.txt", FACT, {"year": 2026})
    newer = {"field": "year", "operator": "greater_than", "value": 2000}

    answer = ask(member, QUESTION, kb_ids=[kb_id], params={"filters": {kb_id: newer}})

    assert [source["file_name"] for source in answer.sources["sources"]] == ["new.txt"]


@pytest.mark.parametrize(
    ("condition", "where"),
    [
        ({"field": "month", "operator": "equals", "value": 1}, ".field"),
        ({"field": "year", "operator": "equals", "value": "soon"}, ".value"),
    ],
)
def test_a_filter_that_does_not_fit_is_422_before_the_question_is_accepted(
    admin: httpx.Client, member: httpx.Client, condition: dict[str, Any], where: str
) -> None:
    kb_id = create_kb(admin, metadata_schema={"year": "number"})
    params = {"filters": {kb_id: condition}}

    asked = member.post("/v1/questions", json={"question": QUESTION, "kb_ids": [kb_id], "params": params})
    created = member.post("/v1/sessions", json={"params": {"kb_ids": [kb_id], **params}})
    searched = member.post(f"/v1/kbs/{kb_id}/search", json={"query": "heron", "filter": condition})

    assert fields(asked) == fields(created) == [f"params.filters.{kb_id}{where}"]
    assert fields(searched) == [f"filter{where}"]


def test_a_filter_of_another_knowledge_base_is_422(member: httpx.Client) -> None:
    filters = {"baike": {"field": "title", "operator": "equals", "value": "x"}}

    asked = member.post(
        "/v1/questions", json={"question": QUESTION, "kb_ids": ["handbook"], "params": {"filters": filters}}
    )

    assert fields(asked) == ["params.filters.baike"]


def test_how_many_documents_have_a_models_summaries_can_be_read(member: httpx.Client) -> None:
    contexts = member.get("/v1/kbs/handbook/contexts").json()

    assert contexts["documents"]["plain"] >= 1
    assert contexts["usage"] is None


def test_nobody_summarises_where_no_model_is_set_up(admin: httpx.Client, member: httpx.Client) -> None:
    answers = [client.post("/v1/kbs/handbook/contexts") for client in (member, admin)]

    assert [answer.status_code for answer in answers] == [403, 409]


def test_the_state_of_the_embedding_can_be_read(member: httpx.Client) -> None:
    embedding = member.get("/v1/kbs/handbook/embedding").json()

    assert embedding["chunks"] >= 0
