"""How the page tells proved quotes from those that are not, and whose words an answer is."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from browser.pages import ask, open_browser, open_page
from browser.scripted import Frame, answer, citation, events, script, source, stream
from stack import Stack

TEXT = "Exact [1]. Found [2]. Elsewhere [3]. Glued [4]. Invented [5]. Bare [6]. Void [9]."
SOURCES = [
    source(1, "The exact words. More words."),
    source(2, "A fitting passage."),
    source(3, "Nothing of that."),
    source(4, "One part. Between. Another part."),
    source(5, "Something else."),
    source(6, "Whatever."),
]
RULES = {"made_by": "rules", "provider": "", "model": "", "rewritten_question": "", "search_needed": True}
MODEL = {
    "made_by": "model",
    "provider": "main",
    "model": "m-1",
    "usage": {"input_tokens": 1200, "cached_tokens": 1000, "output_tokens": 34, "reasoning_tokens": 5, "requests": 2},
}
NOWHERE = {"start": None, "end": None}


def piece(cited: dict[str, Any], text: str) -> dict[str, int]:
    start = cited["start"] + cited["text"].index(text)
    return {"number": cited["number"], "start": start, "end": start + len(text)}


def mixed_answer() -> list[Frame]:
    """One citation for each way in which a quote can stand, and a quote that no number refers to."""
    first, second, third, fourth, fifth, sixth = SOURCES
    exact = citation(TEXT, first, "The exact words.")
    loose = citation(TEXT, first, "More words.", answer_start=None, answer_end=None)
    exact["quotes"] += loose["quotes"]
    parts = [piece(fourth, "One part."), piece(fourth, "Another part.")]
    elsewhere = {"verdict": "misattributed", "pieces": [piece(first, "The exact words.")], **NOWHERE}
    citations = [
        exact,
        citation(TEXT, second, "A fitting passage.", origin="found"),
        citation(TEXT, third, "The exact words.", **elsewhere),
        citation(TEXT, fourth, "One part. Another part.", verdict="stitched", pieces=parts, **NOWHERE),
        {**citation(TEXT, fifth, "An invention."), "state": "changed"},
        {**citation(TEXT, sixth, ""), "quotes": []},
    ]
    return answer(TEXT, SOURCES, citations=citations, dangling_citations=[9], planner=RULES, generator=MODEL)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def page(browser: Browser, stack: Stack) -> Iterator[Page]:
    """The page with the mixed answer; the tests look at it and change nothing."""
    context = browser.new_context(locale="en-US")
    page = open_page(context, stack)
    script(page, mixed_answer())
    ask(page, "Anything?")
    yield page
    context.close()


def sign_of(mark: Locator) -> str:
    return str(mark.evaluate("node => getComputedStyle(node, '::after').content"))


def test_c15_every_number_tells_by_sign_and_by_name_how_its_quote_stands(page: Page) -> None:
    marks = page.locator(".answer button.cite")

    assert [sign_of(mark)[:3] for mark in marks.all()] == ['"✓"', '"~"', '"!"', '"!"', '"!"', '"?"']
    names = [mark.get_attribute("aria-label") or "" for mark in marks.all()]
    assert ["Not proved" in name for name in names] == [False, False, True, True, True, True]
    assert "not quoted" in names[1]
    assert marks.nth(4).evaluate("node => getComputedStyle(node).borderStyle") == "dashed"
    expect(page.locator(".cite-broken")).to_have_count(1)
    expect(page.locator(".answer")).to_have_text(TEXT)


def test_c15_the_summary_and_the_cards_count_what_is_proved(page: Page) -> None:
    expect(page.locator(".summary .proof")).to_have_text(["2 of 5 quotes proved", "1 supporting passage, not quoted"])
    expect(page.locator(".card-proof")).to_have_text(
        [
            "2 quotes proved",
            "1 supporting passage, not quoted",
            "0 of 1 quote proved",
            "0 of 1 quote proved",
            "0 of 1 quote proved",
            "No passage quoted",
        ]
    )
    expect(page.locator(".card-state:visible")).to_have_text(["changed since"])


def test_a_quote_of_another_source_opens_there_and_leads_back(page: Page) -> None:
    passage = page.locator("#passage")
    page.locator("button.cite").nth(2).press("Enter")
    expect(passage.locator(".unproved")).to_contain_text("Not proved: the quote is in another source")
    expect(passage.locator("mark")).to_have_count(0)

    passage.get_by_role("button", name="Source 1: Title 1").press("Enter")

    expect(page.locator("#passage-title")).to_have_text("1 · Title 1")
    expect(passage.locator("mark")).to_have_text("The exact words.")
    passage.get_by_role("button", name="Back to the quote of source 3").press("Enter")
    expect(page.locator("#passage-title")).to_have_text("3 · Title 3")


def test_a_stitched_quote_lists_its_pieces_and_each_opens_at_its_place(page: Page) -> None:
    page.locator("button.cite").nth(3).click()
    pieces = page.locator("#passage .piece")
    expect(pieces.locator("q")).to_have_text(["One part.", "Another part."])

    pieces.nth(1).click()

    expect(page.locator("#passage mark")).to_have_text("Another part.")


def test_a_quote_that_no_number_refers_to_is_listed_under_its_source(page: Page) -> None:
    page.locator(".loose").get_by_role("button", name="More words.").click()

    expect(page.locator("#passage mark")).to_have_text("More words.")
    expect(page.locator("#passage .notice")).to_contain_text("Proved")


def test_who_planned_and_who_wrote_stands_under_the_answer_and_tokens_in_its_details(page: Page) -> None:
    foot = page.locator(".turn-foot")

    expect(foot.locator(".makers > span")).to_have_text(["Planned by rules", "Written by m-1 (main)"])
    foot.locator(".details summary").click()
    expect(foot.locator(".details li").last).to_have_text(
        "answer · 1,200 in, 34 out (5 of them for reasoning) · 1,000 of the input from a cache · 2 requests"
    )


def test_a_copy_without_numbers_has_none_whether_quoted_or_not(page: Page) -> None:
    text = "Yes [1]. No [2]【1†a】, [3]. `x = [1]`, [1](https://example.org), arr[1]."
    cited = [citation(text, SOURCES[0], "The exact words."), {**citation(text, SOURCES[1], ""), "quotes": []}]

    copied = page.evaluate(
        """async ([text, citations]) => (await import("/assets/markers.js")).withoutMarkers(text, citations)""",
        [text, cited],
    )

    assert copied == "Yes. No, [3]. `x = [1]`, [1](https://example.org), arr[1]."


def test_in_chinese_every_mark_and_line_is_chinese(page: Page) -> None:
    page.locator("#language").click()
    try:
        names = [mark.get_attribute("aria-label") or "" for mark in page.locator(".answer button.cite").all()]
        assert ["未核实" in name for name in names] == [False, False, True, True, True, True]
        expect(page.locator(".summary .proof")).to_have_text(["5 处引文中 2 处已核实", "1 处支持性原文，并非引文"])
        expect(page.locator(".makers > span")).to_have_text(["由规则规划", "由 m-1（main）撰写"])
    finally:
        page.locator("#language").click()


def test_while_an_answer_is_written_its_numbers_claim_nothing(page: Page) -> None:
    text = "Yes [1]."
    frames = answer(text, SOURCES[:1], citations=[citation(text, SOURCES[0], "More words.")])
    is_released: list[bool] = []

    def rest(route: Route) -> None:
        stream(route, events(frames[2:], 3) if is_released else ": still writing\n\n")

    page.route("**/v1/questions", lambda route: stream(route, events(frames[:2])))
    page.route("**/v1/questions/*/events", rest)
    page.locator("#question").fill("Is it?")
    page.keyboard.press("Enter")
    mark = page.locator(".turn").last.locator("button.cite")
    expect(mark).to_have_class("cite")
    is_released.append(True)

    expect(mark).to_have_class("cite is-proved")


def test_a_search_that_the_planner_spared_and_a_rewritten_question_are_told(page: Page) -> None:
    planner = {**MODEL, "search_needed": False, "rewritten_question": "What is <b>meant</b>?"}
    script(page, answer("Hello.", [], planner=planner, generator={"made_by": "extractive"}))
    ask(page, "And that?")

    foot = page.locator(".turn").last.locator(".turn-foot")
    expect(foot).to_contain_text("no search is needed")
    expect(foot.locator(".rewritten")).to_have_text("What is <b>meant</b>?")
    expect(foot.locator(".makers")).to_contain_text("Written without a model: sentences of the sources")
