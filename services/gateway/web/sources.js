// The cards of the sources that were found, before the text and then with those that it cites.

import { el } from "./dom.js";
import { label, say } from "./i18n.js";
import { kbTitle } from "./kbs.js";
import { proofLine, proofLines, standingOf, worstOf } from "./proof.js";

const SHOWN = 6;

/** What a source is called: its title, else its file, else where it comes from. */
export function sourceTitle(source) {
  return source.title.trim() || source.file_name.trim() || `${kbTitle(source.kb_id)} #${source.number}`;
}

/** What has become of a source's document: as the source says, else as its citation did when the answer ended. */
export function stateOf(source, citation) {
  const states = [source.state, citation?.state];
  return states.find((state) => state && state !== "current") ?? "current";
}

/** An element that names a page: the printed label, and the physical page where they differ. */
export function pageName({ number, label: printed }) {
  const isPlain = !printed || printed === String(number);
  return say(el("span"), isPlain ? "page" : "pageLabelled", { label: printed || String(number), number: String(number) });
}

/** The same in short, for several pages. */
function pageNames(pages) {
  const name = (page) => page.label || String(page.number);
  if (pages.length === 1) return say(el("span"), "page", { label: name(pages[0]) });
  return say(el("span"), "pages", { first: name(pages[0]), last: name(pages.at(-1)) });
}

export class SourceList {
  element = el("section", { class: "sources", hidden: true });
  #sources = new Map();
  #cards = new Map();
  #heading = el("h3", { class: "sources-heading" });
  #list = el("ol", { class: "cards" });
  #more = el("button", { type: "button", class: "link-button" });
  #isWhole = false;
  #onOpen;

  /** `onOpen(number)` opens a source. */
  constructor(onOpen) {
    this.#onOpen = onOpen;
    this.#more.addEventListener("click", () => {
      this.#isWhole = !this.#isWhole;
      this.#layOut();
    });
    this.element.append(this.#heading, this.#list, this.#more);
  }

  show(sources) {
    this.#sources = new Map(sources.map((source) => [source.number, source]));
    this.#cards = new Map(sources.map((source) => [source.number, this.#card(source)]));
    this.#list.replaceChildren(...this.#cards.values());
    this.element.hidden = false;
    say(this.#heading, sources.length > 0 ? "sourcesFound" : "noSources", { n: sources.length });
    this.#layOut();
  }

  /**
   * Set off the cited ones, with how their quotes stand, from those that were only found.
   * `citations` is a map by number; `onQuote(number, quotes)` opens a quote that no number in the text leads to.
   */
  markCited(citations, onQuote) {
    if (this.#cards.size === 0) return;
    for (const [number, card] of this.#cards) {
      const citation = citations.get(number);
      card.classList.toggle("is-cited", citation !== undefined);
      card.classList.toggle("is-uncited", citation === undefined);
      if (citation) this.#prove(card, this.#sources.get(number), citation, (quote) => onQuote(number, [quote]));
    }
    if (citations.size > 0) say(this.#heading, "sourcesCited", { n: this.#cards.size, cited: citations.size });
    this.#layOut();
  }

  #prove(card, source, citation, onQuote) {
    const { quotes } = citation;
    const button = card.querySelector(".card");
    const proofs = quotes.length > 0 ? proofLines(quotes) : [proofLine("unquoted", "unquoted")];
    button.querySelector(".card-state").replaceWith(stateMark(stateOf(source, citation)));
    button.querySelector(".card-meta").after(el("span", { class: "card-proof" }, ...proofs));
    const verdict = { say: worstOf(quotes).key };
    label(button, "openProof", { number: source.number, title: sourceTitle(source), verdict });
    const loose = quotes.filter((quote) => quote.answer_start === null && quote.cited_text);
    if (loose.length > 0) card.append(looseQuotes(loose, onQuote));
  }

  #layOut() {
    let folded = 0;
    for (const [position, card] of [...this.#cards.values()].entries()) {
      const isExtra = position >= SHOWN && !card.classList.contains("is-cited");
      card.hidden = isExtra && !this.#isWhole;
      if (isExtra) folded += 1;
    }
    this.#more.hidden = folded === 0;
    say(this.#more, this.#isWhole ? "fewerSources" : "moreSources", { n: folded });
    this.#more.setAttribute("aria-expanded", String(this.#isWhole));
  }

  #card(source) {
    const title = sourceTitle(source);
    const meta = [stateMark(stateOf(source)), el("bdi", { class: "card-kb" }, kbTitle(source.kb_id))];
    if (source.pages.length > 0) meta.push(pageNames(source.pages));
    if (source.document_type) meta.push(el("span", { class: "card-type" }, source.document_type));
    const button = el(
      "button",
      { type: "button", class: "card", "data-number": source.number, onclick: () => this.#onOpen(source.number) },
      el("span", { class: "card-number", "aria-hidden": "true" }, String(source.number)),
      el("bdi", { class: "card-title" }, title),
      el("span", { class: "card-meta" }, ...meta),
      el("span", { class: "card-snippet", dir: "auto", "aria-hidden": "true" }, source.text.slice(0, 240)),
    );
    return el("li", {}, label(button, "openSource", { number: source.number, title }));
  }
}

function stateMark(state) {
  const mark = el("span", { class: "card-state", hidden: state === "current" });
  return state === "current" ? mark : say(mark, `state_${state}`);
}

/** The quotes that the answer gave without a number in its text. */
function looseQuotes(quotes, onOpen) {
  const items = quotes.map((quote) => {
    const button = el("button", { type: "button", class: "link-button" }, el("q", { dir: "auto" }, quote.cited_text));
    button.addEventListener("click", () => onOpen(quote));
    return el("li", {}, proofLine(standingOf(quote), `standing_${standingOf(quote)}`), button);
  });
  return el("div", { class: "loose" }, say(el("h4"), "looseQuotes", { n: quotes.length }), el("ul", {}, ...items));
}
