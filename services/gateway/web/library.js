// The knowledge bases with their documents; administrators and owners upload and remove here, administrators create.

import { byId, el, icon } from "./dom.js";
import { confirm } from "./dialogs.js";
import { label, say } from "./i18n.js";
import { allKbs } from "./kbs.js";
import { notice, problemText } from "./problems.js";
import { arePending, countUnsummarised, lackOf, summariesOf } from "./summaries.js";

const POLL_MS = 1000;
// A model takes seconds for each document.
const SUMMARIES_MS = 3000;
const CONFLICT = 409;
const WORKING = new Set(["submitted", "parsing"]);
const FILE_TYPES = ".txt,.log,.md,.markdown,.html,.htm,.pdf,.docx,.pptx,.xlsx,.csv,.tsv";

export class Library {
  #api;
  #dialog = byId("library");
  #list = byId("library-list");
  #problem = byId("library-problem");
  #me = null;
  #onChanged;
  #followed = null;

  /** `onChanged()` reads the knowledge bases anew. */
  constructor(api, onChanged) {
    this.#api = api;
    this.#onChanged = onChanged;
    byId("library-close").addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("close", () => this.#onChanged());
    const form = byId("library-create");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#create(form);
    });
  }

  /** `me` is who looks. */
  open(me) {
    this.#me = me;
    byId("library-new").hidden = !this.#isAdministrator;
    this.#problem.replaceChildren();
    this.#dialog.showModal();
    this.#draw();
  }

  get #isAdministrator() {
    return this.#me.role === "administrator";
  }

  #manages({ owner }) {
    return this.#isAdministrator || (owner !== "" && owner === this.#me.user);
  }

  #draw() {
    this.#list.replaceChildren(...allKbs().map((kb) => this.#shelf(kb)));
  }

  #shelf(kb) {
    const documents = el("ul", { class: "documents" });
    const count = say(el("span", { class: "muted" }), "documentCount", { n: kb.documents });
    const shelf = el(
      "details",
      { class: "shelf", name: "shelf" },
      el("summary", {}, el("bdi", {}, kb.title), count),
      kb.description && el("p", { class: "muted", dir: "auto" }, kb.description),
      el("p", { class: "muted summaries" }),
      this.#manages(kb) && this.#summariser(kb, documents),
      this.#manages(kb) && this.#uploader(kb, documents),
      documents,
    );
    shelf.addEventListener("toggle", () => shelf.open && this.#fill(kb, documents));
    return shelf;
  }

  /** Shown by #follow, and the same one each time, so that it keeps the keyboard's focus. */
  #summariser(kb, documents) {
    const button = el("button", { type: "button", class: "button summarise", hidden: true });
    button.addEventListener("click", async () => {
      button.disabled = true;
      this.#problem.replaceChildren();
      const contexts = await this.#attempt(this.#api.summarise(kb.kb_id), { [CONFLICT]: "errorNoSummaryModel" });
      button.disabled = false;
      // A disabled button lets go of the focus, and a hidden one can't have it.
      (contexts ? button.closest(".shelf").querySelector("summary") : button).focus({ preventScroll: true });
      if (contexts) await this.#fill(kb, documents);
    });
    return button;
  }

  #uploader(kb, documents) {
    const input = el("input", { type: "file", multiple: true, accept: FILE_TYPES, class: "visually-hidden" });
    input.addEventListener("change", () => this.#upload(kb, [...input.files], documents).then(() => (input.value = "")));
    const caption = say(el("span"), "uploadTo");
    const hint = say(el("span", { class: "muted" }), "uploadFormats");
    return el("label", { class: "upload" }, input, icon("upload"), caption, hint);
  }

  async #upload(kb, files, documents) {
    this.#problem.replaceChildren();
    for (const file of files) {
      const progress = say(el("li", { class: "document muted" }), "uploading", { name: file.name });
      documents.prepend(progress);
      await this.#attempt(this.#api.upload(kb.kb_id, file));
      progress.remove();
    }
    await this.#fill(kb, documents);
  }

  /** Show the documents, again and again while any is being worked on. */
  async #fill(kb, documents) {
    this.#follow(kb, documents);
    let isWorking = true;
    while (isWorking && documents.isConnected && this.#dialog.open) {
      const all = await this.#attempt(this.#allDocuments(kb.kb_id));
      if (!all) return;
      documents.replaceChildren(...all.map((document) => this.#document(kb, document, documents)));
      if (all.length === 0) documents.append(say(el("li", { class: "muted" }), "noDocuments"));
      isWorking = all.some((document) => WORKING.has(document.status));
      if (isWorking) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    // Only now are new documents known to wait for their summaries.
    this.#follow(kb, documents);
  }

  /** Show how far the summaries are until all are made, or another call takes over. */
  async #follow(kb, documents) {
    const shelf = documents.closest(".shelf");
    const turn = (this.#followed = Symbol("turn"));
    while (turn === this.#followed && shelf.open && shelf.isConnected && this.#dialog.open) {
      const contexts = await this.#attempt(this.#api.contexts(kb.kb_id));
      if (!contexts) return;
      shelf.querySelector(".summaries").replaceChildren(...summariesOf(contexts));
      this.#offerSummaries(shelf, countUnsummarised(contexts));
      if (!arePending(contexts)) return;
      await new Promise((resolve) => setTimeout(resolve, SUMMARIES_MS));
    }
  }

  #offerSummaries(shelf, n) {
    const button = shelf.querySelector(".summarise");
    if (button) say(button, "summarise", { n }).hidden = n === 0;
  }

  async #allDocuments(kbId) {
    const all = [];
    let cursor = null;
    do {
      const page = await this.#api.documents(kbId, cursor);
      all.push(...page.documents);
      cursor = page.next_cursor;
    } while (cursor);
    return all;
  }

  #document(kb, document, documents) {
    const { title, file_name: file, status, reason, notes } = document;
    const state = say(el("span", { class: `doc-state doc-${status}` }), `doc_${status}`, { reason: reason ?? "" });
    const name = el("span", { class: "document-name" }, el("bdi", {}, title || file), el("bdi", { class: "muted" }, file));
    const lack = lackOf(document.contextual);
    if (lack) name.append(lack);
    if (notes.length > 0) name.append(el("span", { class: "muted", dir: "auto" }, notes.join(" ")));
    const item = el("li", { class: "document" }, name, state);
    if (this.#manages(kb)) item.append(this.#remover(kb, document, documents));
    return item;
  }

  #remover(kb, { doc_id: docId, title, file_name: file }, documents) {
    const name = { title: title || file };
    const button = el("button", { type: "button", class: "icon-button icon-button-small" }, icon("trash"));
    button.addEventListener("click", async () => {
      if (!(await confirm("removeDocTitle", "removeDocText", name, "remove"))) return;
      await this.#attempt(this.#api.removeDocument(kb.kb_id, docId));
      await this.#fill(kb, documents);
    });
    return label(button, "removeNamed", name);
  }

  async #create(form) {
    const kb = Object.fromEntries(new FormData(form));
    if (!(await this.#attempt(this.#api.createKb(kb)))) return;
    form.reset();
    await this.#onChanged();
    this.#draw();
  }

  /** The result, or undefined with the problem told: by the text that `keys` has for its status, or in its own words. */
  async #attempt(promise, keys = {}) {
    try {
      return await promise;
    } catch (error) {
      if (!error.problem) throw error;
      const key = keys[error.problem.status];
      this.#problem.replaceChildren(notice("error", ...(key ? [key] : problemText(error.problem))));
      this.#problem.scrollIntoView({ block: "nearest" });
      return undefined;
    }
  }
}
