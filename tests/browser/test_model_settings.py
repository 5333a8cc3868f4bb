"""The settings of language models, on the real gateway: by keyboard, on a phone, in both languages."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.pages import open_browser, open_page
from stack import Stack

KEY = "sk-browser-test-0123456789"
# Nobody listens there.
ADDRESS = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def page(browser: Browser, stack: Stack) -> Iterator[Page]:
    """The page for all of these tests, as narrow as phones get."""
    context = browser.new_context(locale="en-US", viewport={"width": 320, "height": 640})
    yield open_page(context, stack)
    context.close()


@pytest.fixture
def admin(stack: Stack) -> Iterator[httpx.Client]:
    """An administrator's client; what a test has made is gone afterwards, for a usable provider would be asked."""
    with stack.client() as client:
        yield client
        for provider in client.get("/v1/settings/model").json()["providers"]:
            client.delete(f"/v1/settings/model/providers/{provider['name']}")


@pytest.fixture
def settings(page: Page, admin: httpx.Client) -> Iterator[Locator]:
    """The open settings with one provider, `local`, that has a key and is switched off."""
    body = {"address": ADDRESS, "model": "m-1", "key": KEY, "connect_timeout": 2.5, "max_retries": 0}
    admin.put("/v1/settings/model/providers/local", json=body).raise_for_status()
    page.locator("#models-open").press("Enter")
    expect(page.locator("#models .provider")).to_have_count(1)
    yield page.locator("#models")
    page.locator("#models-close").click()


def stored(admin: httpx.Client, name: str) -> dict[str, Any]:
    providers = admin.get("/v1/settings/model").json()["providers"]
    return next(provider for provider in providers if provider["name"] == name)


def unfold(settings: Locator, name: str = "local") -> Locator:
    shelf = settings.locator(f".provider[data-name={name}]")
    shelf.locator("> summary").press("Enter")
    return shelf


def test_a_new_provider_is_made_by_keyboard_and_its_key_stays_nowhere(settings: Locator, admin: httpx.Client) -> None:
    page = settings.page
    settings.locator("#models-new > summary").press("Enter")
    form = settings.locator("#models-new")
    form.get_by_label("Name", exact=True).fill("second")
    form.get_by_label("Address").fill(ADDRESS)
    form.get_by_label("Key", exact=True).fill(KEY)
    form.get_by_label("Model", exact=True).fill("m-2")
    form.get_by_label("Plan searches").press("Space")

    form.get_by_label("Model", exact=True).press("Enter")

    expect(settings.locator(".provider[data-name=second] [type=submit]")).to_be_focused()
    provider = stored(admin, "second")
    assert (provider["model"], provider["use_for_rewrite"], provider["enabled"]) == ("m-2", True, False)
    assert provider["key"] == "…6789"
    assert page.evaluate("[...document.querySelectorAll('input')].every((input) => !input.value.startsWith('sk-'))")
    assert KEY not in page.content()
    assert KEY not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")


def test_saving_keeps_the_key_and_every_other_setting_that_was_not_touched(
    settings: Locator, admin: httpx.Client
) -> None:
    before = stored(admin, "local")
    shelf = unfold(settings)
    expect(shelf.get_by_label("Key", exact=True)).to_have_attribute("placeholder", "…6789")
    shelf.get_by_text("Time limits").click()
    shelf.get_by_label("Whole answer (seconds)").fill("42.5")

    shelf.get_by_role("button", name="Save").click()

    expect(shelf.locator(".result")).to_have_text("“local” is saved.")
    assert stored(admin, "local") == {**before, "total_timeout": 42.5}


def test_what_the_server_refuses_is_told_at_its_field(settings: Locator) -> None:
    shelf = unfold(settings)
    shelf.get_by_text("How it answers").click()
    shelf.get_by_label("Temperature", exact=True).fill("warm")
    shelf.get_by_text("How it answers").click()

    shelf.get_by_role("button", name="Save").click()

    temperature = shelf.get_by_label("Temperature", exact=True)
    expect(temperature).to_be_focused()
    expect(temperature).to_have_attribute("aria-invalid", "true")
    expect(temperature).to_have_accessible_description(re.compile("^0 to 2. .*a valid number"))


def test_h08_a_provider_without_a_key_says_what_is_missing_and_is_used_for_nothing(settings: Locator) -> None:
    shelf = unfold(settings)
    shelf.get_by_label("Remove the saved key (…6789)").check()
    shelf.get_by_label("Enabled").check()
    shelf.get_by_label("Write answers").check()

    shelf.get_by_role("button", name="Save").click()

    expect(shelf.locator("> summary")).to_contain_text("not usable, missing: Key")
    expect(settings.locator("#models-purposes li").first).to_have_text(
        "Answerswithout a model: sentences of the sources"
    )


def test_a_connection_that_fails_says_why(settings: Locator, admin: httpx.Client) -> None:
    admin.patch("/v1/settings/model/providers/local", json={"enabled": True}).raise_for_status()
    shelf = unfold(settings)

    shelf.get_by_role("button", name="Test connection").click()

    # The first check of a gateway loads the client of models.
    told = shelf.locator(".result .notice-error")
    expect(told).to_contain_text("It does not work: the model provider local", timeout=20_000)


def test_the_settings_have_an_address_and_going_back_closes_them(settings: Locator) -> None:
    page = settings.page
    assert page.url.endswith("/#settings")

    page.evaluate("location.hash = ''")

    expect(settings).to_be_hidden()
    page.evaluate("location.hash = '#settings'")
    expect(settings).to_be_visible()


def test_a_provider_is_deleted_once_confirmed(settings: Locator, admin: httpx.Client) -> None:
    unfold(settings).get_by_role("button", name="Delete").click()

    settings.page.locator("#prompt-yes").click()

    expect(settings.locator(".provider")).to_have_count(0)
    assert admin.get("/v1/settings/model").json()["providers"] == []


def test_on_a_phone_in_chinese_nothing_scrolls_sideways_and_nothing_is_english(settings: Locator) -> None:
    page = settings.page
    page.locator("#language").evaluate("button => button.click()")
    shelf = unfold(settings)

    expect(shelf.get_by_role("switch", name="撰写回答")).to_be_visible()
    expect(shelf.get_by_role("switch", name="撰写回答")).to_have_accessible_description(
        "会发送每个问题、对话中先前的问答，以及在文档中找到的段落。"
    )
    assert settings.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.locator("#language").evaluate("button => button.click()")


def test_who_is_no_administrator_has_no_settings(browser: Browser, stack: Stack, admin: httpx.Client) -> None:
    key = admin.post("/v1/keys", json={"user": "reader"}).json()["key"]
    with contextlib.closing(browser.new_context(locale="en-US")) as context:
        page = context.new_page()
        page.goto(f"{stack.base_url}/#key={key}")
        expect(page.locator("#kbs label").first).to_be_visible()

        page.evaluate("location.hash = '#settings'")

        expect(page.locator("#models-open")).to_be_hidden()
        expect(page.locator("#models")).to_be_hidden()
