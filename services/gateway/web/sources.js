// The cards of the sources that were found, before the text and then with those that it cites.

import { el } from "./dom.js";
import { label, say } from "./i18n.js";
import { kbTitle } from "./kbs.js";

const SHOWN = 6;

/** What a source is called: its title, else its file, else where it comes from. */
export function sourceTitle(source) {
  return source.title.trim() || source.file_name.trim() || `${kbTitle(source.kb_id)} #${source.number}`;
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
    this.#cards = new Map(sources.map((source) => [source.number, this.#card(source)]));
    this.#list.replaceChildren(...this.#cards.values());
    this.element.hidden = false;
    say(this.#heading, sources.length > 0 ? "sourcesFound" : "noSources", { n: sources.length });
    this.#layOut();
  }

  /** Set off the cited ones from those that were only found. */
  markCited(numbers) {
    if (this.#cards.size === 0) return;
    for (const [number, card] of this.#cards) {
      card.classList.toggle("is-cited", numbers.has(number));
      card.classList.toggle("is-uncited", !numbers.has(number));
    }
    if (numbers.size > 0) say(this.#heading, "sourcesCited", { n: this.#cards.size, cited: numbers.size });
    this.#layOut();
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
    const meta = [el("bdi", { class: "card-kb" }, kbTitle(source.kb_id))];
    if (source.state && source.state !== "current") {
      meta.unshift(say(el("span", { class: "card-state" }), `state_${source.state}`));
    }
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
