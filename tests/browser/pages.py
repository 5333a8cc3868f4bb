"""Opening the page and using it as a reader does."""

import contextlib
from collections.abc import Iterator

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from browser.ensure_browser import find_browser
from stack import Stack

# Nothing but the page may use the network.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextlib.contextmanager
def open_browser() -> Iterator[Browser]:
    """The system's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(ARGUMENTS))
        yield browser
        browser.close()


def open_page(context: BrowserContext, stack: Stack) -> Page:
    """The page, signed in and ready for a question."""
    page = context.new_page()
    page.goto(f"{stack.base_url}/#key={stack.admin_key}")
    expect(page.locator("#kbs label").first).to_be_visible()
    return page


def ask(page: Page, question: str) -> None:
    """Ask, and wait for the end of the answer."""
    answered = page.locator(".turn .actions").count()
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".turn .actions")).to_have_count(answered + 1)
