"""How far a model's summaries are, where the page lists a knowledge base's documents."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from browser.pages import open_browser, open_page
from stack import Stack

STATES = {"plain": 0, "waiting": 0, "summarising": 0, "partial": 0, "complete": 0, "failed": 0}
USAGE = {"input_tokens": 1200, "cached_tokens": 1000, "output_tokens": 34, "reasoning_tokens": 0, "requests": 2}
DOCUMENT = {
    "doc_id": "01890000-0000-7000-8000-000000000003",
    "title": "Tickets",
    "file_name": "tickets.md",
    "status": "indexed",
    "notes": [],
    "contextual": {"state": "failed", "reason": "the model provider main answered 401 (unauthorised)"},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as chromium:
        yield chromium


@pytest.fixture
def page(browser: Browser, stack: Stack) -> Iterator[Page]:
    context = browser.new_context(locale="en-US")
    yield open_page(context, stack)
    context.close()


def told(page: Page, *contexts: dict[str, Any]) -> None:
    """What the gateway tells of the summaries, each time that it is asked; the last for good."""
    left = list(contexts)

    def fulfil(route: Route) -> None:
        route.fulfill(json=left.pop(0) if len(left) > 1 else left[0])

    page.route("**/v1/kbs/handbook/contexts", fulfil)
    page.route("**/v1/kbs/handbook/documents?*", lambda route: route.fulfill(json={"documents": [DOCUMENT]}))


def open_handbook(page: Page) -> None:
    page.get_by_role("button", name="Knowledge bases").click()
    page.locator(".shelf", has_text="handbook").first.locator("summary").click()


def test_the_page_counts_documents_by_their_summaries_and_says_what_they_cost(page: Page) -> None:
    told(page, {"documents": STATES | {"plain": 1, "complete": 40}, "usage": USAGE})

    open_handbook(page)

    line = page.locator(".shelf[open] .summaries")
    expect(line).to_have_text(
        "Summaries by a model: 40 complete, 1 without · 1,200 in, 34 out · 1,000 of the input from a cache · 2 requests"
    )
    page.evaluate("""async () => (await import("/assets/i18n.js")).switchLanguage()""")
    expect(line).to_have_text("模型摘要：40 份完成、1 份没有 · 输入 1,200，输出 34 · 输入中 1,000 来自缓存 · 2 次请求")


def test_the_line_follows_as_long_as_summaries_are_made(page: Page) -> None:
    waiting = {"documents": STATES | {"waiting": 2}, "usage": None}
    told(page, waiting, waiting, {"documents": STATES | {"complete": 2}, "usage": USAGE})

    open_handbook(page)

    expect(page.locator(".shelf[open] .summaries")).to_have_text("Summaries by a model: 2 waiting")
    expect(page.locator(".shelf[open] .summaries")).to_contain_text("2 complete", timeout=20_000)


def test_nothing_is_said_of_summaries_where_no_model_was_asked(page: Page) -> None:
    told(page, {"documents": STATES | {"plain": 3}, "usage": None})

    open_handbook(page)

    expect(page.locator(".shelf[open] .document")).to_have_count(1)
    expect(page.locator(".shelf[open] .summaries")).to_be_hidden()


def test_a_document_without_summaries_says_why(page: Page) -> None:
    told(page, {"documents": STATES | {"failed": 1}, "usage": None})

    open_handbook(page)

    expect(page.locator(".shelf[open] .document")).to_contain_text(
        "No summaries: the model provider main answered 401 (unauthorised)"
    )


def test_a_button_has_documents_of_before_summarised(page: Page) -> None:
    told(page, {"documents": STATES | {"plain": 2, "failed": 1}, "usage": None})
    open_handbook(page)
    button = page.get_by_role("button", name="Have a model summarise 3 documents")
    expect(button).to_be_visible()
    was_disabled = []

    def start(route: Route) -> None:
        if route.request.method == "POST":
            was_disabled.append(button.is_disabled())
        route.fulfill(json={"documents": STATES | {"waiting": 3}, "usage": None})

    page.route("**/v1/kbs/handbook/contexts", start)
    page.locator(".shelf[open] summary").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator(".shelf[open] .summaries")).to_have_text("Summaries by a model: 3 waiting")
    expect(page.locator(".shelf[open] .summarise")).to_be_hidden()
    expect(page.locator(".shelf[open] summary")).to_be_focused()
    assert was_disabled == [True]


def test_the_page_says_that_no_model_may_be_asked_for_summaries(page: Page) -> None:
    page.get_by_role("button", name="Knowledge bases").click()
    page.locator(".shelf", has_text="handbook").first.locator("summary").click()
    button = page.locator(".shelf[open] .summarise")

    button.click()

    expect(page.locator("#library-problem")).to_have_text(
        "No model may be asked: no usable provider is set to summarise documents."
    )
    expect(button).to_be_enabled()
    expect(button).to_be_focused()


def test_who_may_not_manage_a_knowledge_base_gets_no_button_for_summaries(page: Page) -> None:
    page.route("**/v1/me", lambda route: route.fulfill(json=route.fetch().json() | {"role": "user"}))
    page.reload()
    expect(page.locator("#kbs label").first).to_be_visible()
    told(page, {"documents": STATES | {"plain": 1, "complete": 1}, "usage": None})

    open_handbook(page)

    expect(page.locator(".shelf[open] .summaries")).to_contain_text("1 without")
    expect(page.locator(".shelf[open] .summarise")).to_have_count(0)
