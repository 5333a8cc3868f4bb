"""The page over the real chain: sign in, ask, read the sources, come back."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from browser.pages import ask, open_browser, open_page
from stack import Stack

QUESTION = "How far ahead should a trip be booked?"

# Notes in which order cards and text appear.
WATCH_ORDER = """
() => {
  window.order = [];
  const note = (name, selector) => {
    if (!window.order.includes(name) && document.querySelector(selector)) window.order.push(name);
  };
  new MutationObserver(() => {
    note("cards", ".card");
    note("text", ".answer > *");
  }).observe(document.body, { childList: true, subtree: true });
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as chromium:
        yield chromium


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(locale="en-US")
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, stack: Stack) -> Page:
    return open_page(context, stack)


def stored_interactions(stack: Stack, page: Page) -> list[dict[str, Any]]:
    session_id = page.evaluate("location.hash").removeprefix("#session=")
    with stack.client() as client:
        interactions: list[dict[str, Any]] = client.get(f"/v1/sessions/{session_id}").json()["interactions"]
    return interactions


def test_the_form_refuses_a_wrong_key_and_takes_the_right_one(context: BrowserContext, stack: Stack) -> None:
    page = context.new_page()
    page.goto(stack.base_url)

    page.get_by_label("Key").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("This key is not valid.")
    page.get_by_label("Key").fill(stack.admin_key)
    page.get_by_role("button", name="Sign in").click()

    expect(page.locator("#user")).to_have_text("admin")


def test_a_key_in_the_address_signs_in_and_leaves_the_address(page: Page, stack: Stack) -> None:
    expect(page.locator("#user")).to_have_text("admin")

    assert page.url == f"{stack.base_url}/"


def test_every_module_is_asked_for_at_once(page: Page) -> None:
    urls = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")

    modules = {url for url in urls if url.endswith(".js")}
    preloaded = set(page.evaluate("[...document.querySelectorAll('[rel=modulepreload]')].map((link) => link.href)"))
    assert {url for url in modules - preloaded if not url.endswith("/app.js")} == set()


def test_signing_out_leads_back_to_the_form(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_label("Key")).to_be_visible()


def test_the_cards_stand_before_the_text(page: Page) -> None:
    page.evaluate(WATCH_ORDER)

    ask(page, QUESTION)

    assert page.evaluate("window.order") == ["cards", "text"]


def test_a_number_opens_its_passage_with_exactly_the_quote_marked(page: Page, stack: Stack) -> None:
    ask(page, QUESTION)

    page.locator("button.cite").first.click()

    citations = stored_interactions(stack, page)[0]["model_response"]["citations"]
    first = min((quote for entry in citations for quote in entry["quotes"]), key=lambda quote: quote["answer_start"])
    marks = page.locator("#passage mark")
    expect(marks).to_have_count(1)
    assert marks.evaluate("node => node.textContent") == first["cited_text"]


def test_a_whole_document_opens_with_the_same_mark(page: Page) -> None:
    ask(page, QUESTION)
    page.locator("button.cite").first.click()
    passage_mark = page.locator("#passage mark").evaluate("node => node.textContent")

    page.locator("#passage .passage-links button").first.click()
    expect(page.get_by_role("button", name="Back to the passage")).to_be_visible()

    assert page.locator("#passage mark").evaluate("node => node.textContent") == passage_mark


def test_a_chinese_question_is_answered_from_the_chinese_knowledge_base(page: Page) -> None:
    ask(page, "谁发现了氧气？")

    expect(page.locator(".answer button.cite").first).to_be_visible()
    expect(page.locator(".is-cited .card-kb").first).to_have_text(
        page.locator(".answered-from .kb-name").first.inner_text()
    )


def test_a_conversation_keeps_its_knowledge_bases(page: Page, stack: Stack) -> None:
    others = page.locator("#kbs input:checked:not([value=handbook])")
    while others.count():
        others.first.uncheck()

    ask(page, QUESTION)

    expect(page.locator("#kbs input")).to_have_count(1)
    expect(page.locator("#kbs input")).to_be_disabled()
    assert {entry["kb_id"] for entry in stored_interactions(stack, page)[0]["search_queries"]} == {"handbook"}


def test_c13_each_answer_keeps_its_own_citations_after_a_reload(page: Page) -> None:
    ask(page, QUESTION)
    ask(page, "How long is the parental leave?")
    before = page.locator(".turn").evaluate_all("turns => turns.map((turn) => turn.querySelector('.answer').innerHTML)")

    page.reload()
    expect(page.locator(".turn .actions")).to_have_count(2)

    after = page.locator(".turn").evaluate_all("turns => turns.map((turn) => turn.querySelector('.answer').innerHTML)")
    assert after == before
    assert before[0] != before[1]


def test_who_planned_and_who_wrote_is_told_at_once_and_after_a_reload(page: Page) -> None:
    told = ["Planned by rules", "Written without a model: sentences of the sources"]
    ask(page, QUESTION)
    expect(page.locator(".makers > span")).to_have_text(told)

    page.reload()

    expect(page.locator(".makers > span")).to_have_text(told)


def test_a06_a_second_tab_shows_the_next_answer_of_its_conversation(page: Page, context: BrowserContext) -> None:
    ask(page, QUESTION)
    second = context.new_page()
    second.goto(page.url)
    expect(second.locator(".turn .actions")).to_have_count(1)

    ask(page, "Who approves a trip?")

    expect(second.locator(".turn .actions")).to_have_count(2)
    assert second.locator(".answer").all_inner_texts() == page.locator(".answer").all_inner_texts()


def test_a_conversation_is_renamed_and_deleted(page: Page) -> None:
    ask(page, QUESTION)
    item = page.locator(".session").filter(has=page.locator("[aria-current]"))
    item.hover()
    item.get_by_role("button", name="Rename").click()
    page.get_by_label("Title").last.fill("Trips & <b>bookings</b>")
    page.get_by_role("button", name="Save").click()
    expect(item.locator(".session-title")).to_have_text("Trips & <b>bookings</b>")

    item.hover()
    item.get_by_role("button", name="Delete").click()
    page.locator("#prompt-yes").click()

    expect(page.locator(".session-title", has_text="Trips & <b>bookings</b>")).to_have_count(0)
    expect(page.locator("#welcome")).to_be_visible()


def test_an_administrator_uploads_a_document_and_asks_about_it(page: Page) -> None:
    page.get_by_role("button", name="Knowledge bases").click()
    page.locator("#library-new summary").click()
    page.locator("#library-create [name=title]").fill("Notes")
    page.locator("#library-create [name=kb_id]").fill("notes")
    page.get_by_role("button", name="Create").click()
    shelf = page.locator(".shelf").filter(has_text="Notes")
    shelf.locator("summary").click()
    content = b"# Aquarium\n\nThe zebrafish tank is cleaned on Thursdays.\n"
    shelf.locator("input[type=file]").set_input_files(
        {"name": "tank.md", "mimeType": "text/markdown", "buffer": content}
    )
    expect(shelf.locator(".doc-indexed, .doc-embedded")).to_be_visible(timeout=20_000)
    page.locator("#library-close").click()

    ask(page, "When is the zebrafish tank cleaned?")

    expect(page.locator(".answer")).to_contain_text("on Thursdays")
