"""Answers of yesterday whose documents have changed, are gone, or may no longer be read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.pages import open_browser
from documents import upload
from frames import ask
from stack import Stack

QUESTION = "Who leads Project Heron?"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as chromium:
        yield chromium


@pytest.fixture
def admin(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as client:
        yield client


@dataclass(frozen=True)
class Reader:
    """A user without rights, who asks in one place and reads the answer later in another."""

    browser: Browser
    stack: Stack
    key: str

    def ask(self, kb_id: str) -> str:
        """The id of a session with one answer."""
        with self.stack.client(self.key) as client:
            session_id: str = ask(client, QUESTION, kb_ids=[kb_id]).done["session_id"]
        return session_id

    def open(self, session_id: str, locale: str = "en-US") -> Page:
        """The page with a session, in a browser of its own."""
        page = self.browser.new_context(locale=locale).new_page()
        page.goto(f"{self.stack.base_url}/#key={self.key}")
        expect(page.locator("#kbs label").first).to_be_visible()
        page.goto(f"{self.stack.base_url}/#session={session_id}")
        expect(page.locator(".turn .card").first).to_be_visible()
        return page


@pytest.fixture
def reader(browser: Browser, stack: Stack, admin: httpx.Client) -> Reader:
    return Reader(browser, stack, admin.post("/v1/keys", json={"user": "reader"}).json()["key"])


@pytest.fixture
def kb(admin: httpx.Client) -> dict[str, Any]:
    """A knowledge base with one document."""
    kb_id = f"kb-{uuid4().hex[:12]}"
    admin.post("/v1/kbs", json={"kb_id": kb_id, "title": "Projects", "embedder": "none"})
    return upload(admin, kb_id, "heron.txt", b"Project Heron is led by Ada Lovelace.")


def passage_of(page: Page) -> Locator:
    """The reader, opened at the first source."""
    page.locator(".card").first.click()
    return page.locator("#passage")


@pytest.mark.parametrize(
    ("locale", "told"),
    [("en-US", ("removed", "The document is no longer available.")), ("zh-CN", ("已移除", "文档已不可用。"))],
)
def test_i08_the_card_of_a_removed_document_opens_its_passage_with_a_notice(
    admin: httpx.Client, reader: Reader, kb: dict[str, Any], locale: str, told: tuple[str, str]
) -> None:
    session_id = reader.ask(kb["kb_id"])
    admin.delete(f"/v1/kbs/{kb['kb_id']}/documents/{kb['doc_id']}")

    page = reader.open(session_id, locale)

    expect(page.locator(".card-state")).to_have_text(told[0])
    passage = passage_of(page)
    expect(passage.locator(".notice").first).to_contain_text(told[1])
    expect(passage.locator("mark")).to_have_text("Project Heron is led by Ada Lovelace.")
    expect(passage.locator(".link-button")).to_have_count(0)


def test_i08_the_card_of_a_changed_document_opens_the_passage_as_it_was(
    admin: httpx.Client, reader: Reader, kb: dict[str, Any]
) -> None:
    session_id = reader.ask(kb["kb_id"])
    upload(admin, kb["kb_id"], "heron.txt", b"Project Heron was given up.")

    page = reader.open(session_id)

    expect(page.locator(".card-state")).to_have_text("changed since")
    passage = passage_of(page)
    expect(passage.locator(".notice").first).to_contain_text("has changed since")
    expect(passage.locator("mark")).to_have_text("Project Heron is led by Ada Lovelace.")


def test_e09_an_answer_that_may_no_longer_be_read_says_so_and_shows_nothing_of_it(
    admin: httpx.Client, reader: Reader, kb: dict[str, Any]
) -> None:
    session_id = reader.ask(kb["kb_id"])
    admin.patch(f"/v1/kbs/{kb['kb_id']}", json={"access": {"everyone": False}})

    page = reader.open(session_id)

    expect(page.locator(".card-state")).to_have_text("no longer accessible")
    expect(page.locator(".turn-foot")).to_contain_text("no longer have access")
    expect(passage_of(page)).to_contain_text("You no longer have access to this source.")
    expect(page.locator("body")).not_to_contain_text("Ada Lovelace")


def test_an_owner_who_is_no_administrator_may_upload_to_their_own_knowledge_base(
    admin: httpx.Client, reader: Reader, kb: dict[str, Any]
) -> None:
    admin.patch(f"/v1/kbs/{kb['kb_id']}", json={"owner": "reader", "title": "Mine alone"})
    page = reader.open(reader.ask(kb["kb_id"]))

    page.locator("#manage").click()

    mine = page.locator(".shelf").filter(has_text="Mine alone")
    expect(mine.locator("input[type=file]")).to_have_count(1)
    expect(page.locator("#library input[type=file]")).to_have_count(1)
