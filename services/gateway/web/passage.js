// The reader: a source's text with the cited characters marked; on request the whole page around it.

import { unitIndex } from "./codepoints.js";
import { byId, el } from "./dom.js";
import { say } from "./i18n.js";
import { kbTitle } from "./kbs.js";
import { notice } from "./problems.js";
import { quoteNotes } from "./quotes.js";
import { pageName, sourceTitle } from "./sources.js";

const SIDE_BY_SIDE = window.matchMedia("(min-width: 1080px)");
export class PassageReader {
  #api;
  #dialog = byId("passage");
  #title = byId("passage-title");
  #meta = byId("passage-meta");
  #body = byId("passage-body");
  #opened = 0;
  #returnTo = null;

  constructor(api) {
    this.#api = api;
    byId("passage-close").addEventListener("click", () => this.close());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.close();
    });
    this.#dialog.addEventListener("close", () => this.#returnTo?.focus());
    this.#dialog.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.#dialog.matches(":modal")) this.close();
    });
    // The layout decides whether the reader stands beside the text or over it.
    SIDE_BY_SIDE.addEventListener("change", () => this.close());
  }

  close() {
    this.#dialog.close();
  }

  /**
   * Show a source with these quotes marked; null: nothing is known of quotes (yet, unless `isEnded`).
   * `sources` are all those of the answer, a map by number.
   */
  open(source, { quotes, isEnded, sources }) {
    const onPiece = (piece) => this.#openPiece(piece, source, { quotes, isEnded, sources });
    const uncited = () => (isEnded ? [notice("info", "verdict_uncited")] : []);
    this.#show(source, quotes ?? [], () => (quotes === null ? uncited() : quoteNotes(quotes, sources, onPiece)));
  }

  /** The place where a part of an unproved quote stands, in whichever source that is. */
  #openPiece(piece, source, view) {
    const back = say(el("button", { type: "button", class: "link-button" }), "backToQuote", { number: source.number });
    back.addEventListener("click", () => this.open(source, view));
    const notes = () => [el("div", { class: "passage-links" }, back), notice("info", "pieceShown", { number: source.number })];
    const other = view.sources.get(piece.number);
    const page = other.pages.find(({ start, end }) => start <= piece.start && piece.start < end);
    this.#show(other, [{ ...piece, page: page?.number, page_label: page?.label }], notes);
  }

  /** `marked` are ranges of the document; `notes()` makes what stands above the text. */
  #show(source, marked, notes) {
    this.#opened += 1;
    if (!this.#dialog.contains(document.activeElement)) this.#returnTo = document.activeElement;
    this.#title.textContent = `${source.number} · ${sourceTitle(source)}`;
    this.#showPassage(source, marked, notes);
    if (!this.#dialog.open) {
      if (SIDE_BY_SIDE.matches) this.#dialog.show();
      else this.#dialog.showModal();
    }
    this.#title.focus({ preventScroll: true });
    this.#scrollToMark();
  }

  #showPassage(source, marked, notes) {
    this.#showMeta(source, citedPages(marked, source.pages));
    if (source.state === "withheld") {
      this.#body.replaceChildren(notice("warn", "sourceWithheld"));
      return;
    }
    const links = wholeTextLinks(source).map(({ page, button }) => {
      button.addEventListener("click", () => this.#showWhole(source, marked, notes, page));
      return button;
    });
    this.#body.replaceChildren(
      ...stateNotices(source),
      ...notes(),
      sourceText(source, marked),
      el("div", { class: "passage-links" }, ...links),
    );
  }

  #showMeta(source, pages) {
    const parts = [el("bdi", {}, kbTitle(source.kb_id))];
    if (source.file_name && source.file_name !== sourceTitle(source)) parts.push(el("bdi", {}, source.file_name));
    parts.push(...pages.map(pageName));
    this.#meta.replaceChildren(...parts);
  }

  async #showWhole(source, marked, notes, page) {
    const opened = this.#opened;
    const back = say(el("button", { type: "button", class: "link-button" }), "backToPassage");
    back.addEventListener("click", () => this.#show(source, marked, notes));
    const { kb_id: kbId, doc_id: docId } = source;
    const content = await (page ? this.#api.page(kbId, docId, page.number) : this.#api.text(kbId, docId)).catch(() => null);
    // Another passage may have been opened meanwhile.
    if (opened !== this.#opened) return;
    if (content === null) {
      this.#body.querySelector(".passage-links:last-child").replaceChildren(notice("warn", "documentGone"));
      return;
    }
    if (page) this.#showMeta(source, [page]);
    const isSame = content.version === source.version;
    this.#body.replaceChildren(
      el("div", { class: "passage-links" }, back),
      isSame ? "" : notice("warn", "documentChanged"),
      sourceText(content, isSame ? marked : []),
    );
    this.#title.focus({ preventScroll: true });
    this.#scrollToMark();
  }

  #scrollToMark() {
    this.#body.scrollTop = 0;
    this.#body.querySelector("mark")?.scrollIntoView({ block: "center" });
  }
}

/** The text as text, with a `mark` on exactly the characters that are quoted. */
function sourceText({ text, start }, quotes) {
  const index = unitIndex(text);
  const node = el("div", { class: "source-text", dir: "auto", tabindex: "0" });
  let end = 0;
  for (const [from, to] of mergedRanges(quotes, start, start + [...text].length)) {
    const [first, last] = [index(from - start), index(to - start)];
    node.append(text.slice(end, first), el("mark", {}, text.slice(first, last)));
    end = last;
  }
  node.append(text.slice(end));
  return node;
}

function mergedRanges(quotes, lower, upper) {
  const ranges = quotes
    .filter((quote) => quote.start !== null && quote.end > lower && quote.start < upper)
    .map((quote) => [Math.max(quote.start, lower), Math.min(quote.end, upper)])
    .sort(([one], [other]) => one - other);
  const merged = [];
  for (const [from, to] of ranges) {
    const last = merged.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

function citedPages(quotes, pages) {
  const cited = new Map();
  for (const { page, page_label: printed } of quotes) if (page) cited.set(page, { number: page, label: printed });
  return cited.size > 0 ? [...cited.values()] : pages;
}

/** What has become of the document since the answer was given. */
function stateNotices({ state }) {
  if (state === "removed") return [notice("warn", "documentGone")];
  return state === "changed" ? [notice("warn", "sourceChanged")] : [];
}

function wholeTextLinks({ pages, state }) {
  if (state === "removed") return [];
  const link = (key, params) => say(el("button", { type: "button", class: "link-button" }), key, params);
  if (pages.length === 0) return [{ page: null, button: link("wholeText") }];
  return pages.map((page) => ({ page, button: link("wholePage", { label: page.label || String(page.number) }) }));
}
