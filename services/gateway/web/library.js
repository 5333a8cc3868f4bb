// The knowledge bases with their documents; administrators upload, remove and create here.

import { byId, el, icon } from "./dom.js";
import { confirm } from "./dialogs.js";
import { label, say } from "./i18n.js";
import { allKbs } from "./kbs.js";
import { notice, problemText } from "./problems.js";

const POLL_MS = 1000;
const WORKING = new Set(["submitted", "parsing"]);
const FILE_TYPES = ".txt,.md,.markdown,.html,.htm,.pdf";

export class Library {
  #api;
  #dialog = byId("library");
  #list = byId("library-list");
  #problem = byId("library-problem");
  #isAdministrator = false;
  #onChanged;

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

  open(isAdministrator) {
    this.#isAdministrator = isAdministrator;
    byId("library-new").hidden = !isAdministrator;
    this.#problem.replaceChildren();
    this.#dialog.showModal();
    this.#draw();
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
      this.#isAdministrator && this.#uploader(kb.kb_id, documents),
      documents,
    );
    shelf.addEventListener("toggle", () => shelf.open && this.#fill(kb.kb_id, documents));
    return shelf;
  }

  #uploader(kbId, documents) {
    const input = el("input", { type: "file", multiple: true, accept: FILE_TYPES, class: "visually-hidden" });
    input.addEventListener("change", () => this.#upload(kbId, [...input.files], documents).then(() => (input.value = "")));
    const caption = say(el("span"), "uploadTo");
    const hint = say(el("span", { class: "muted" }), "uploadFormats");
    return el("label", { class: "upload" }, input, icon("upload"), caption, hint);
  }

  async #upload(kbId, files, documents) {
    this.#problem.replaceChildren();
    for (const file of files) {
      const progress = say(el("li", { class: "document muted" }), "uploading", { name: file.name });
      documents.prepend(progress);
      await this.#attempt(this.#api.upload(kbId, file));
      progress.remove();
    }
    await this.#fill(kbId, documents);
  }

  /** Show the documents, again and again while any is being worked on. */
  async #fill(kbId, documents) {
    let isWorking = true;
    while (isWorking && documents.isConnected && this.#dialog.open) {
      const all = await this.#attempt(this.#allDocuments(kbId));
      if (!all) return;
      documents.replaceChildren(...all.map((document) => this.#document(document, documents)));
      if (all.length === 0) documents.append(say(el("li", { class: "muted" }), "noDocuments"));
      isWorking = all.some((document) => WORKING.has(document.status));
      if (isWorking) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
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

  #document(document, documents) {
    const { title, file_name: file, status, reason } = document;
    const state = say(el("span", { class: `doc-state doc-${status}` }), `doc_${status}`, { reason: reason ?? "" });
    const name = el("span", { class: "document-name" }, el("bdi", {}, title || file), el("bdi", { class: "muted" }, file));
    const item = el("li", { class: "document" }, name, state);
    if (this.#isAdministrator) item.append(this.#remover(document, documents));
    return item;
  }

  #remover({ kb_id: kbId, doc_id: docId, title, file_name: file }, documents) {
    const name = { title: title || file };
    const button = el("button", { type: "button", class: "icon-button icon-button-small" }, icon("trash"));
    button.addEventListener("click", async () => {
      if (!(await confirm("removeDocTitle", "removeDocText", name, "remove"))) return;
      await this.#attempt(this.#api.removeDocument(kbId, docId));
      await this.#fill(kbId, documents);
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

  /** The result, or undefined with the problem told. */
  async #attempt(promise) {
    try {
      return await promise;
    } catch (error) {
      if (!error.problem) throw error;
      this.#problem.replaceChildren(notice("error", ...problemText(error.problem)));
      return undefined;
    }
  }
}
