"""Who may read, ask and change a knowledge base, and its settings, as the owner of the data enforces it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.requests import (
    CreateKnowledgeBase,
    GetContexts,
    GetDocument,
    ListDocuments,
    ReadPage,
    RemoveDocument,
    RemoveKnowledgeBase,
    Request,
    Search,
    SubmitDocument,
    SummariseDocuments,
    UpdateKnowledgeBase,
)
from citewire.contracts.streams import KB_BUCKET
from citewire.runtime.errors import Refusal
from citewire.runtime.registry import watch
from retriever_stage import ADMIN, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWNER, READER, STRANGER = (User(user_id=name) for name in ("owner", "reader", "stranger"))
COLLEAGUE = User(user_id="colleague", groups=("sales",))

Asks = Callable[[User, UUID], Request[Any]]

READS: list[Asks] = [
    lambda user, _: ListDocuments(user=user, kb_id="kb"),
    lambda user, doc_id: GetDocument(user=user, kb_id="kb", doc_id=doc_id),
    lambda user, doc_id: ReadPage(user=user, kb_id="kb", doc_id=doc_id),
    lambda user, _: Search(user=user, kb_id="kb", query="ticket"),
    lambda user, _: GetContexts(user=user, kb_id="kb"),
]
CHANGES: list[Asks] = [
    lambda user, doc_id: RemoveDocument(user=user, kb_id="kb", doc_id=doc_id),
    lambda user, _: SubmitDocument(user=user, kb_id="kb", file_name="a.txt", upload="none"),
    lambda user, _: update(user, title="Mine"),
    lambda user, _: RemoveKnowledgeBase(user=user, kb_id="kb"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def stage(retriever: Stage) -> AsyncGenerator[Stage]:
    """A retriever with a knowledge base of `owner`, which `reader` and the group `sales` may read."""
    await retriever.create_kb(owner="owner", access={"everyone": False, "users": ["reader"], "groups": ["sales"]})
    yield retriever
    await retriever.clear()


def update(user: User, **changes: object) -> UpdateKnowledgeBase:
    return UpdateKnowledgeBase.model_validate({"user": user, "kb_id": "kb", "changes": changes})


async def status(stage: Stage, request: Request[Any]) -> int:
    """The status that a request is refused with, 200 when it is not."""
    try:
        await stage.bus.ask(request)
    except Refusal as refusal:
        return refusal.problem.status
    return 200


async def registered(stage: Stage) -> KnowledgeBase:
    async with watch(stage.bus, KB_BUCKET, KnowledgeBase) as register:
        return register.entries["kb"]


async def test_e08_to_a_stranger_the_knowledge_base_does_not_exist(stage: Stage) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.")

    answers = [await status(stage, ask(STRANGER, document.doc_id)) for ask in (*READS, *CHANGES)]

    assert answers == [404] * len(answers)


@pytest.mark.parametrize("user", [READER, COLLEAGUE, OWNER, ADMIN])
async def test_those_who_are_named_may_read_and_search(stage: Stage, user: User) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.")

    assert [await status(stage, ask(user, document.doc_id)) for ask in READS] == [200] * len(READS)


async def test_e08_a_reader_may_change_nothing(stage: Stage) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.")

    assert [await status(stage, ask(READER, document.doc_id)) for ask in CHANGES] == [403] * len(CHANGES)


async def test_only_those_who_may_change_it_have_documents_summarised(stage: Stage) -> None:
    answers = [
        await status(stage, SummariseDocuments(user=user, kb_id="kb")) for user in (STRANGER, READER, OWNER, ADMIN)
    ]

    # No model is set up.
    assert answers == [404, 403, 409, 409]


async def test_the_owner_may_change_everything_but_the_owner_and_the_pool(stage: Stage) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.")

    refused = [await status(stage, update(OWNER, **change)) for change in ({"owner": "reader"}, {"pool": "big"})]
    allowed = [await status(stage, ask(OWNER, document.doc_id)) for ask in CHANGES]

    assert (refused, allowed) == ([403, 403], [200] * len(CHANGES))


async def test_only_an_administrator_creates_knowledge_bases(stage: Stage) -> None:
    new = {"kb_id": "another", "title": "Another"}

    answer = await status(stage, CreateKnowledgeBase.model_validate({"user": OWNER, "kb": new}))

    assert answer == 403


async def test_e09_a_revoked_reader_finds_nothing_from_then_on(stage: Stage) -> None:
    document = await stage.add("price.txt", b"The ticket costs ten francs.")
    before = await status(stage, Search(user=READER, kb_id="kb", query="ticket"))

    await stage.bus.ask(update(OWNER, access={"everyone": False}))

    assert before == 200
    assert [await status(stage, ask(READER, document.doc_id)) for ask in READS] == [404] * len(READS)


async def test_two_changes_of_different_settings_at_once_both_hold(stage: Stage) -> None:
    await asyncio.gather(
        stage.bus.ask(update(ADMIN, title="New title")),
        stage.bus.ask(update(ADMIN, description="New description")),
        stage.bus.ask(update(ADMIN, access={"everyone": True})),
    )

    kb = (await stage.bus.ask(update(ADMIN, language="en"))).kb

    assert (kb.title, kb.description, kb.access.everyone, kb.language) == (
        "New title",
        "New description",
        True,
        "en",
    )


async def test_the_register_has_all_settings_and_a_greater_revision(stage: Stage) -> None:
    before = await registered(stage)
    changes = {
        "title": "价目",
        "owner": "reader",
        "metadata_schema": {"year": "number"},
        "retrieval": {"mode": "parent_child", "rse_params": "find_all"},
        "embedder": "none",
    }

    reply = await stage.bus.ask(update(ADMIN, **changes))

    after = await registered(stage)
    assert after == reply.kb
    assert after.revision > before.revision
    assert after.model_dump(mode="json").items() >= {"title": "价目", "owner": "reader"}.items()
    assert (after.retrieval.mode, after.metadata_schema) == ("parent_child", {"year": "number"})
    assert after.access == before.access


@pytest.mark.parametrize(("field", "name"), [("embedder", "unheard"), ("reranker", "unheard")])
async def test_a_name_that_is_not_set_up_is_refused(stage: Stage, field: str, name: str) -> None:
    with pytest.raises(Refusal) as changed:
        await stage.bus.ask(update(ADMIN, **{field: name}))
    with pytest.raises(Refusal) as created:
        await stage.create_kb("another", **{field: name})

    assert [refused.value.problem.errors[0].field for refused in (changed, created)] == [field, field]


async def test_g01_nul_in_settings_is_dropped(stage: Stage) -> None:
    kb = (await stage.bus.ask(update(ADMIN, title="Pri\0ces", access={"users": ["re\0ader"]}))).kb

    assert (kb.title, kb.access.users) == ("Prices", ("reader",))
