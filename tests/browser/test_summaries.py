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
