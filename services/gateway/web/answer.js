// An answer's text: rendered while it is written, and once more, exactly, when it is complete.

import { el } from "./dom.js";
import { label } from "./i18n.js";
import { blocksOf, render } from "./markdown.js";
import { fillPlaces, holdPlaces, linkPlain, numbersIn } from "./markers.js";
import { worstOf } from "./proof.js";
import { sourceTitle } from "./sources.js";

// What comes next can still change the last block and what it joins to, such as a list after a blank line.
const LIVE_BLOCKS = 2;
// At most this share of the time goes into rendering, however long a single block gets.
const PAUSE_PER_RENDER = 3;

export class Answer {
  element = el("div", { class: "answer" });
  #text = "";
  #settledLength = 0;
  #live = [];
  #frame = 0;
  #notBefore = 0;
  #sources = new Map();
  #onCite;

  /** `onCite(number, quotes)` opens a passage. */
  constructor(onCite) {
    this.#onCite = onCite;
  }

  get text() {
    return this.#text;
  }

  /** Start anew with these sources, a map by number. */
  start(sources) {
    this.#cancel();
    this.#text = "";
    this.#settledLength = 0;
    this.#live = [];
    this.#sources = sources;
    this.element.replaceChildren();
  }

  append(text) {
    this.#text += text;
    this.#frame ||= requestAnimationFrame((now) => this.#draw(now));
  }

  /** Render the complete text; quotes link exactly where the server found their markers, and tell how they stand. */
  finish(text, citations, dangling) {
    this.#cancel();
    this.#text = text;
    const held = holdPlaces(text, citations);
    const fragment = render(held.text);
    const broken = new Set(dangling);
    const used = new Set([...dangling, ...citations.map((citation) => citation.number)]);
    fillPlaces(fragment, held, ({ raw, uses }) => this.#group(numbersIn(raw).filter((number) => used.has(number)), broken, uses));
    linkPlain(fragment, (raw, numbers) => (numbers.every((number) => used.has(number)) ? this.#group(numbers, broken, new Map()) : null));
    this.element.replaceChildren(fragment);
  }

  #cancel() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  #draw(now) {
    this.#frame = 0;
    if (now < this.#notBefore) {
      this.#frame = requestAnimationFrame((later) => this.#draw(later));
      return;
    }
    const started = performance.now();
    this.#drawBlocks();
    const spent = performance.now() - started;
    // Within one frame there is nothing to save.
    this.#notBefore = spent < 4 ? 0 : now + spent * (1 + PAUSE_PER_RENDER);
  }

  #drawBlocks() {
    const tail = this.#text.slice(this.#settledLength);
    for (const node of this.#live) node.remove();
    const settled = settledText(tail);
    this.#add(settled);
    this.#settledLength += settled.length;
    this.#live = this.#add(this.#text.slice(this.#settledLength));
  }

  #add(text) {
    const fragment = render(text);
    linkPlain(fragment, (raw, numbers) => (numbers.every((number) => this.#sources.has(number)) ? this.#group(numbers, new Set(), null) : null));
    const nodes = [...fragment.childNodes];
    this.element.append(fragment);
    return nodes;
  }

  /** `uses` are the quotes by number; null while nothing is known of them. */
  #group(numbers, broken, uses) {
    const group = el("span", { class: "cite-group" });
    for (const number of numbers) {
      group.append(broken.has(number) ? brokenNumber(number) : this.#number(number, uses && (uses.get(number) ?? [])));
    }
    return group;
  }

  #number(number, quotes) {
    const button = el("button", { type: "button", class: "cite", "data-number": number }, ...bracketed(number));
    button.addEventListener("click", () => this.#onCite(number, quotes));
    const source = this.#sources.get(number);
    const params = { number, title: source ? sourceTitle(source) : "" };
    if (quotes === null) return label(button, "openCitation", params);
    const { standing, key } = worstOf(quotes);
    button.classList.add(`is-${standing}`);
    return label(button, "openProof", { ...params, verdict: { say: key } });
  }
}

function brokenNumber(number) {
  return label(el("span", { class: "cite cite-broken", role: "note" }, ...bracketed(number)), "brokenCitation", { number });
}

/** The brackets are not seen, but a copied selection has them. */
const bracketed = (number) => [el("span", { class: "bracket" }, "["), String(number), el("span", { class: "bracket" }, "]")];

/** The beginning of a text that what comes later cannot change. */
function settledText(text) {
  const blocks = blocksOf(text);
  let live = LIVE_BLOCKS;
  while (blocks.length > 0 && live > 0) if (blocks.pop().type !== "space") live -= 1;
  const settled = blocks.map((block) => block.raw).join("");
  // The parser rewrites unusual line ends; then offsets would be wrong, and all of it stays live.
  return text.startsWith(settled) ? settled : "";
}
