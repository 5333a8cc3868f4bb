// The list of conversations.

import { byId, el, icon } from "./dom.js";
import { askText, confirm } from "./dialogs.js";
import { label, onLanguage, say, shortDate } from "./i18n.js";

export class SessionList {
  #api;
  #list = byId("sessions");
  #empty = byId("sessions-empty");
  #more = byId("sessions-more");
  #sessions = [];
  #cursor = null;
  #current = null;
  #actions;

  /** `actions` has `open(id)`, `removed(id)` and `problem(error)`. */
  constructor(api, actions) {
    this.#api = api;
    this.#actions = actions;
    this.#more.addEventListener("click", () => this.#loadMore());
    onLanguage(() => this.#draw());
  }

  /** Read the list anew. */
  async refresh() {
    const page = await this.#api.sessions(null).catch(this.#actions.problem);
    if (!page) return;
    this.#sessions = page.sessions;
    this.#cursor = page.next_cursor;
    this.#draw();
  }

  /** Set off the open conversation; null for a new one. */
  mark(sessionId) {
    this.#current = sessionId;
    this.#draw();
  }

  async #loadMore() {
    const page = await this.#api.sessions(this.#cursor).catch(this.#actions.problem);
    if (!page) return;
    this.#sessions = [...this.#sessions, ...page.sessions];
    this.#cursor = page.next_cursor;
    this.#draw();
  }

  #draw() {
    this.#list.replaceChildren(...this.#sessions.map((session) => this.#item(session)));
    this.#empty.hidden = this.#sessions.length > 0;
    this.#more.hidden = this.#cursor === null;
  }

  #item(session) {
    const { session_id: id, title, updated_at: at } = session;
    const name = title.trim() ? el("bdi", { class: "session-title" }, title) : say(el("span", { class: "session-title" }), "untitled");
    const open = el("button", { type: "button", class: "session-open", onclick: () => this.#actions.open(id) }, name);
    open.append(el("time", { class: "session-time", datetime: at }, shortDate(at)));
    if (id === this.#current) open.setAttribute("aria-current", "page");
    const rename = this.#tool("pencil", "renameNamed", title, () => this.#rename(session));
    const remove = this.#tool("trash", "deleteNamed", title, () => this.#delete(session));
    return el("li", { class: "session" }, open, el("span", { class: "session-tools" }, rename, remove));
  }

  #tool(iconName, key, title, onclick) {
    return label(el("button", { type: "button", class: "icon-button icon-button-small", onclick }, icon(iconName)), key, { title });
  }

  async #rename({ session_id: id, title }) {
    const newTitle = await askText("renameTitle", "newTitle", title, "save");
    if (newTitle === null) return;
    await this.#api.renameSession(id, newTitle).catch(this.#actions.problem);
    await this.refresh();
  }

  async #delete({ session_id: id, title }) {
    if (!(await confirm("deleteTitle", "deleteText", { title }, "delete"))) return;
    const isDone = await this.#api.deleteSession(id).then(() => true, this.#actions.problem);
    if (isDone) this.#actions.removed(id);
    await this.refresh();
  }
}
