"""Documents that wait for summaries get them, or keep their plain headers and say why."""

import json
from collections.abc import AsyncGenerator

import pytest

from citewire.contracts.knowledge import Contextual, ContextualState, Document
from citewire.contracts.provenance import Usage
from citewire.runtime.model.failures import ModelFailed
from context_stage import BUSY, DENIED, HANDBOOK, FakeClient, Library, answer, open_library
from retriever.store.contexts import ContextStore
from retriever_stage import until


@pytest.fixture
async def library(database: str) -> AsyncGenerator[Library]:
    async with open_library(database) as library:
        yield library


async def test_headers_get_the_summaries_and_the_document_says_what_they_cost(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)

    contextual = await library.summarised(document, FakeClient(answer(1, 2)))

    assert contextual == Contextual(
        state=ContextualState.COMPLETE,
        sections=2,
        provider="main",
        model="scripted",
        usage=Usage(input_tokens=100, output_tokens=10, requests=1),
    )
    headers = await library.headers()
    assert headers[0].endswith(" — Governs employees.")
    assert headers[-1].endswith("Pay — Part 2. — Governs employees.")


async def test_what_follows_revisions_is_told_of_new_headers(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)
    before = await library.revision()

    await library.summarised(document, FakeClient(answer(1, 2)))

    assert await library.revision() == before + 1


@pytest.mark.parametrize(
    ("text", "title"), [("Rail tickets. " * 10, "Staff Rules"), ("Our own title\n\nRail tickets.", "Our own title")]
)
async def test_only_a_title_that_is_the_files_name_is_replaced(library: Library, text: str, title: str) -> None:
    document = await library.store("scan-0815.txt", text)

    await library.summarised(document, FakeClient(answer()))

    assert (await library.document(document.doc_id)).title == title
    assert await library.headers() == [f"{title} — Governs employees."]


async def test_only_beginnings_of_a_document_are_sent(library: Library) -> None:
    text = "The opening. " + "Rail tickets cost ten francs. " * 2000 + "ending-4711"
    document = await library.store("scan-0815.txt", text)
    client = FakeClient(answer())

    await library.summarised(document, client)

    (sent,) = client.requests
    assert sent.keys() == {"title", "beginning", "sections"}
    assert sent["beginning"].startswith("The opening.")
    assert "ending-4711" not in json.dumps(sent)
    assert "scan-0815" not in json.dumps(sent)


async def test_sections_are_sent_with_their_headings_and_beginnings(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)
    client = FakeClient(answer(1, 2))

    await library.summarised(document, client)

    travel, pay = client.requests[0]["sections"]
    assert (travel["number"], travel["heading"], pay["number"], pay["heading"]) == (1, "Travel", 2, "Pay")
    assert travel["beginning"].startswith("# Travel")
    assert "# Pay\n\nWages" in pay["beginning"]


async def test_no_sections_are_sent_where_the_operator_wants_none(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)
    client = FakeClient(answer())

    contextual = await library.summarised(document, client, most_sections=0)

    assert client.requests[0]["sections"] == []
    assert (contextual.state, contextual.sections) == (ContextualState.COMPLETE, 0)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (DENIED, "the model provider main answered 401 (unauthorised)"),
        ("I would rather not.", "the model provider main answered with something else than JSON"),
        (answer(summary=""), "the model summarised nothing"),
    ],
)
async def test_a_failure_leaves_the_plain_headers_and_is_shown(
    library: Library, reply: str | ModelFailed, reason: str
) -> None:
    document = await library.store("handbook.txt", "Rail tickets cost ten francs.")

    contextual = await library.summarised(document, FakeClient(reply))

    assert (contextual.state, contextual.reason) == (ContextualState.FAILED, reason)
    assert contextual.usage == Usage(input_tokens=100, output_tokens=10, requests=1)
    assert await library.headers() == [document.title]


async def test_what_may_pass_is_tried_again_later_and_every_try_is_paid_for(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)
    client = FakeClient(BUSY, answer(1, 2))

    waiting = await library.summarised(document, client)
    await library.hurry()
    contextual = await library.summarised(document, client)

    assert (waiting.state, waiting.reason) == (ContextualState.WAITING, str(BUSY))
    assert (contextual.state, contextual.reason) == (ContextualState.COMPLETE, None)
    assert contextual.usage == Usage(input_tokens=200, output_tokens=20, requests=2)


async def test_a_provider_that_stays_away_is_asked_three_times(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)
    client = FakeClient(BUSY, BUSY, BUSY)

    await library.summarised(document, client)
    await library.hurry()
    await library.summarised(document, client)
    await library.hurry()
    contextual = await library.summarised(document, client)

    assert (contextual.state, contextual.reason) == (ContextualState.FAILED, str(BUSY))
    assert len(client.requests) == 3


async def test_a_document_over_which_processes_died_is_given_up(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)
    store = ContextStore(library.database)
    await store.claim(0)
    await store.claim(0)
    await store.claim(0)
    client = FakeClient(answer())

    contextual = await library.summarised(document, client)

    assert (contextual.state, contextual.reason) == (
        ContextualState.FAILED,
        "every earlier try ended without a word",
    )
    assert client.requests == []


async def test_sections_that_were_left_out_are_said(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)

    contextual = await library.summarised(document, FakeClient(answer(2)))

    assert (contextual.state, contextual.sections) == (ContextualState.PARTIAL, 1)
    assert contextual.reason == "the model left out 1 of 2 sections"


async def test_a_document_whose_turn_comes_when_the_model_is_switched_off_stays_plain(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)

    contextual = await library.summarised(document, None)

    assert contextual.state is ContextualState.PLAIN
    assert contextual.reason == "the model was switched off before its turn"


async def test_a_version_that_was_replaced_takes_no_summaries_of_the_one_before(library: Library) -> None:
    await library.store("handbook.txt", "Rail tickets cost ten francs.")
    store = ContextStore(library.database)
    claimed = await store.claim(60)
    assert claimed is not None
    second = await library.store("handbook.txt", "Rail tickets cost twelve euros.")

    await store.finish(claimed, "Another title", {0: "another header"}, Contextual())
    await store.note(claimed, Contextual())

    assert await library.headers() == [second.title]
    assert (await library.document(second.doc_id)).contextual.state is ContextualState.WAITING


async def test_two_processes_never_have_the_same_document(library: Library) -> None:
    for name in ("a.txt", "b.txt"):
        await library.store(name, "Rail tickets cost ten francs.")
    store = ContextStore(library.database)

    first, second, third = await store.claim(60), await store.claim(60), await store.claim(60)

    assert first is not None
    assert second is not None
    assert (first.file_name, second.file_name, third) == ("b.txt", "a.txt", None)


async def test_documents_of_before_are_summarised_when_that_is_asked_for(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK, is_to_be_summarised=False)

    async def look() -> Contextual | None:
        now = (await library.document(document.doc_id)).contextual
        return now if now.state is ContextualState.COMPLETE else None

    async with library.backlog(FakeClient(answer(1, 2))).running():
        await ContextStore(library.database).ask("kb")
        contextual = await until(look)

    assert contextual.sections == 2


async def test_the_newest_document_comes_first_and_a_new_one_before_all_of_before(library: Library) -> None:
    for name in ("a.txt", "b.txt"):
        await library.store(name, "Rail tickets cost ten francs.", is_to_be_summarised=False)
    store = ContextStore(library.database)

    await store.ask("kb")
    await store.call_up(2)
    await library.store("c.txt", "Rail tickets cost ten francs.")

    claimed = [await store.claim(60) for _ in range(3)]
    assert [document and document.file_name for document in claimed] == ["c.txt", "b.txt", "a.txt"]


async def test_a_document_that_failed_gets_all_its_tries_again_and_what_they_cost_is_kept(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK)
    failed = await library.summarised(document, FakeClient(DENIED))

    store = ContextStore(library.database)
    await store.ask("kb")
    await store.call_up(1)
    waiting = await library.summarised(document, FakeClient(BUSY))
    await library.hurry()
    contextual = await library.summarised(document, FakeClient(answer(1, 2)))

    assert (failed.state, waiting.state) == (ContextualState.FAILED, ContextualState.WAITING)
    assert (contextual.state, contextual.reason) == (ContextualState.COMPLETE, None)
    assert contextual.usage == Usage(input_tokens=300, output_tokens=30, requests=3)


async def test_documents_with_summaries_or_in_work_are_not_summarised_again(library: Library) -> None:
    complete = await library.store("a.md", HANDBOOK)
    await library.summarised(complete, FakeClient(answer(1, 2)))
    partial = await library.store("b.md", HANDBOOK)
    await library.summarised(partial, FakeClient(answer(2)))
    store = ContextStore(library.database)
    await library.store("c.md", HANDBOOK)
    await store.claim(60)

    await store.ask("kb")

    assert not await store.call_up(10)
    assert await store.claim(60) is None


async def test_what_fails_again_is_not_called_up_again(library: Library) -> None:
    document = await library.store("handbook.md", HANDBOOK, is_to_be_summarised=False)
    store = ContextStore(library.database)

    await store.ask("kb")
    await store.call_up(1)
    contextual = await library.summarised(document, FakeClient(DENIED))

    assert contextual.state is ContextualState.FAILED
    assert not await store.call_up(10)


async def test_documents_of_before_wait_a_few_at_a_time_and_are_counted_as_waiting(library: Library) -> None:
    for name in ("a.md", "b.md", "c.md"):
        await library.store(name, HANDBOOK, is_to_be_summarised=False)
    store = ContextStore(library.database)

    await store.ask("kb")
    await store.call_up(1)

    assert (await store.progress("kb")).documents[ContextualState.WAITING] == 3
    (row,) = await library.database.rows("SELECT file_name FROM knowledge.documents WHERE context_due IS NOT NULL")
    assert row["file_name"] == "c.md"


async def test_documents_of_before_stay_plain_when_the_model_is_switched_off_again(library: Library) -> None:
    await library.store("a.md", HANDBOOK, is_to_be_summarised=False)
    document = await library.store("b.md", HANDBOOK, is_to_be_summarised=False)
    store = ContextStore(library.database)
    await store.ask("kb")
    await store.call_up(1)

    async def look() -> bool | None:
        return True if (await store.progress("kb")).documents[ContextualState.PLAIN] == 2 else None

    async with library.backlog(None).running():
        await until(look)

    assert not await store.call_up(10)
    assert (await library.document(document.doc_id)).contextual.reason == "the model was switched off before its turn"


async def test_asking_again_calls_up_what_was_added_plain_meanwhile(library: Library) -> None:
    store = ContextStore(library.database)
    await store.ask("kb")
    await library.store("a.md", HANDBOOK, is_to_be_summarised=False)

    assert not await store.call_up(10)
    await store.ask("kb")
    assert await store.call_up(10)


async def test_documents_are_counted_by_state_and_what_they_cost_is_summed(library: Library) -> None:
    for name in ("a.md", "b.md"):
        document = await library.store(name, HANDBOOK)
        await library.summarised(document, FakeClient(answer(1, 2)))
    await library.store("c.md", HANDBOOK, is_to_be_summarised=False)
    await library.store("d.md", HANDBOOK)
    removed = await library.store("e.md", HANDBOOK)
    await library.documents.remove("kb", removed.doc_id)

    contexts = await ContextStore(library.database).progress("kb")

    assert {state: n for state, n in contexts.documents.items() if n} == {"complete": 2, "plain": 1, "waiting": 1}
    assert contexts.documents.keys() == set(ContextualState)
    assert contexts.usage == Usage(input_tokens=200, output_tokens=20, requests=2)


async def test_where_no_model_was_asked_nothing_was_spent(library: Library) -> None:
    await library.store("a.md", HANDBOOK, is_to_be_summarised=False)

    assert (await ContextStore(library.database).progress("kb")).usage is None


async def test_one_document_that_the_model_is_slow_about_does_not_keep_the_next_one_waiting(library: Library) -> None:
    slow = await library.store("a.txt", "Rail tickets cost ten francs.")
    following = await library.store("b.txt", "Wages are paid monthly.")

    contextual = await library.summarised(
        following, FakeClient(answer(), is_silent_about="Rail tickets cost ten francs.")
    )

    assert contextual.state is ContextualState.COMPLETE
    assert (await library.document(slow.doc_id)).contextual.state is ContextualState.SUMMARISING


async def test_a_removed_document_is_nobodys_business(library: Library) -> None:
    document = await library.store("a.txt", "Rail tickets cost ten francs.")
    await library.documents.remove("kb", document.doc_id)

    assert await ContextStore(library.database).claim(60) is None


async def test_a_document_that_is_not_to_be_summarised_is_left_alone(library: Library) -> None:
    document = await library.store("a.txt", "Rail tickets cost ten francs.", is_to_be_summarised=False)

    assert document.contextual == Contextual()
    assert await ContextStore(library.database).claim(60) is None


async def test_a_document_is_taken_up_as_soon_as_it_is_announced(library: Library) -> None:
    backlog = library.backlog(FakeClient(answer()), interval=3600)

    async def look(document: Document) -> Document | None:
        now = await library.document(document.doc_id)
        return None if now.contextual.is_pending else now

    async with backlog.running():
        document = await library.store("a.txt", "Rail tickets cost ten francs.")
        backlog.wake()
        summarised = await until(lambda: look(document))

    assert summarised.contextual.state is ContextualState.COMPLETE
