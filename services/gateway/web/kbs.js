// The knowledge bases: their names, and which of them a conversation asks.

import { el } from "./dom.js";
import { label } from "./i18n.js";

const known = new Map();

/** Keep what the server listed. */
export function rememberKbs(kbs) {
  known.clear();
  for (const kb of kbs) known.set(kb.kb_id, kb);
}

/** All knowledge bases. */
export const allKbs = () => [...known.values()];

/** A knowledge base's title; its id if it has been removed. */
export const kbTitle = (kbId) => known.get(kbId)?.title || kbId;

/** Chips with checkboxes: all are chosen for a new conversation, and fixed once it has begun. */
export class KbChooser {
  #list;
  #hint;
  #chosen = new Set();
  #fixed = null;

  constructor(list, hint) {
    this.#list = list;
    this.#hint = hint;
  }

  /** The chosen ids, in the order shown. */
  get kbIds() {
    return this.#fixed ?? allKbs().map((kb) => kb.kb_id).filter((kbId) => this.#chosen.has(kbId));
  }

  get isFixed() {
    return this.#fixed !== null;
  }

  /** For a new conversation. */
  open() {
    this.#fixed = null;
    this.#chosen = new Set(allKbs().map((kb) => kb.kb_id));
    this.#draw();
  }

  /** After the list of knowledge bases has changed: new ones are chosen, too. */
  refresh(earlier) {
    for (const { kb_id: kbId } of allKbs()) if (!earlier.has(kbId)) this.#chosen.add(kbId);
    this.#draw();
  }

  /** For a conversation that has these. */
  fix(kbIds) {
    this.#fixed = kbIds;
    this.#draw();
  }

  #draw() {
    const ids = this.#fixed ?? allKbs().map((kb) => kb.kb_id);
    this.#list.replaceChildren(...ids.map((kbId) => this.#chip(kbId)));
    label(this.#list, this.#fixed === null ? "scope" : "scopeFixed");
    this.#tellHint();
  }

  #chip(kbId) {
    const box = el("input", { type: "checkbox", value: kbId, disabled: this.#fixed !== null });
    box.checked = this.#fixed !== null || this.#chosen.has(kbId);
    box.addEventListener("change", () => {
      if (box.checked) this.#chosen.add(kbId);
      else this.#chosen.delete(kbId);
      this.#tellHint();
    });
    return el("label", { class: "chip" }, box, el("bdi", {}, kbTitle(kbId)));
  }

  #tellHint() {
    this.#hint.hidden = this.#fixed !== null || this.kbIds.length > 0 || known.size === 0;
  }
}
