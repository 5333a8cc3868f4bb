// The settings of language models, for administrators: what is used for what, and each provider.

import { byId, el, icon } from "./dom.js";
import { confirm } from "./dialogs.js";
import { say } from "./i18n.js";
import { notice, problemText } from "./problems.js";
import { ProviderForm } from "./provider-form.js";

const INVALID = 422;
const PURPOSES = ["ask", "rewrite", "contextual"];
const WARNINGS = {
  "the key travels unencrypted": "warningUnencrypted",
  "the context is small": "warningSmallContext",
};

export class ModelSettings {
  #api;
  #dialog = byId("models");
  #purposes = byId("models-purposes");
  #problem = byId("models-problem");
  #list = byId("models-list");
  #new = byId("models-new");
  #providers = [];

  /** `onClosed()` is called when the reader is done. */
  constructor(api, onClosed) {
    this.#api = api;
    byId("models-close").addEventListener("click", () => this.close());
    this.#dialog.addEventListener("close", () => {
      // Typed keys do not stay on the page.
      this.#clear();
      onClosed();
    });
  }

  get isOpen() {
    return this.#dialog.open;
  }

  close() {
    this.#dialog.close();
  }

  async open() {
    this.#problem.replaceChildren();
    this.#dialog.showModal();
    await this.#refresh(null);
  }

  #clear() {
    this.#list.replaceChildren();
    this.#new.querySelector("form")?.remove();
    this.#new.open = false;
  }

  /** Read all anew; the provider named `opened` is unfolded. */
  async #refresh(opened) {
    const settings = await this.#attempt(this.#api.modelSettings());
    if (!settings || !this.#dialog.open) return;
    this.#providers = settings.providers;
    this.#clear();
    this.#purposes.replaceChildren(...PURPOSES.map((purpose) => purposeLine(purpose, settings.purposes[purpose])));
    this.#list.replaceChildren(...settings.providers.map((provider) => this.#shelf(provider, provider.name === opened)));
    const form = new ProviderForm(null, (name, values) => this.#add(name, values, form));
    this.#new.append(form.element);
  }

  #shelf(provider, isOpen) {
    const { name, warnings } = provider;
    const form = new ProviderForm(provider, (_, values) => this.#save(name, values, form));
    const result = el("div", { class: "result", role: "status" });
    form.addButtons(this.#checker(name, result), this.#remover(name));
    return el(
      "details",
      { class: "shelf provider", name: "provider", open: isOpen, "data-name": name },
      el("summary", {}, el("bdi", {}, name), stateOf(provider)),
      ...warnings.map((warning) => notice("warn", WARNINGS[warning] ?? "error", { message: warning })),
      form.element,
      result,
    );
  }

  async #add(name, values, form) {
    if (this.#providers.some((provider) => provider.name === name)) {
      form.showErrors([{ field: "name", key: "nameTaken" }]);
      return;
    }
    await this.#save(name, values, form);
  }

  async #save(name, values, form) {
    const saved = await this.#attempt(this.#api.putProvider(name, values), form);
    if (!saved) return;
    await this.#refresh(name);
    this.#tell("saved", { name });
    const shelf = this.#list.querySelector(`[data-name="${name}"]`);
    shelf?.querySelector(".result").replaceChildren(notice("info", "saved", { name }));
    shelf?.querySelector("[type=submit]").focus();
  }

  #checker(name, result) {
    const button = el("button", { type: "button", class: "button" }, say(el("span"), "checkProvider"));
    button.addEventListener("click", async () => {
      button.disabled = true;
      result.replaceChildren(notice("info", "checking"));
      const outcome = await this.#attempt(this.#api.checkProvider(name));
      result.replaceChildren(...(outcome ? [checkNotice(outcome)] : []));
      button.disabled = false;
    });
    return button;
  }

  #remover(name) {
    const caption = say(el("span"), "removeProvider");
    const button = el("button", { type: "button", class: "button button-quiet" }, icon("trash"), caption);
    button.addEventListener("click", async () => {
      if (!(await confirm("removeProviderTitle", "removeProviderText", { name }, "remove"))) return;
      if ((await this.#attempt(this.#api.removeProvider(name))) === undefined) return;
      await this.#refresh(null);
      this.#tell("removedProvider", { name });
      byId("models-new").querySelector("summary").focus();
    });
    return button;
  }

  #tell(key, params) {
    say(byId("models-status"), key, params);
  }

  #showProblem(problem) {
    this.#problem.replaceChildren(notice("error", ...problemText(problem)));
    this.#problem.scrollIntoView({ block: "nearest" });
  }

  /** The result, or undefined with the problem told: at the fields of `form` where it names them. */
  async #attempt(promise, form = null) {
    this.#problem.replaceChildren();
    try {
      return await promise;
    } catch (error) {
      if (!error.problem) throw error;
      const { status, errors = [] } = error.problem;
      const isTold = status === INVALID && form !== null && errors.length > 0 && form.showErrors(errors);
      if (!isTold) this.#showProblem(error.problem);
      return undefined;
    }
  }
}

function purposeLine(purpose, name) {
  const who = name ? el("bdi", {}, name) : say(el("span", { class: "muted" }), `unserved_${purpose}`);
  return el("li", {}, say(el("span", { class: "purpose" }), `purpose_${purpose}`), who);
}

/** One line on a provider: what it lacks, or what it serves. */
function stateOf({ enabled, missing, is_usable: isUsable, serves }) {
  const state = el("span", { class: isUsable ? "doc-state doc-indexed" : "doc-state" });
  if (missing.length > 0) return say(state, "providerMissing", { fields: missing.map((name) => ({ say: `field_${name}` })) });
  if (!enabled) return say(state, "providerOff");
  if (serves.length === 0) return say(state, "providerIdle");
  return say(state, "providerServes", { purposes: serves.map((purpose) => ({ say: `purpose_${purpose}` })) });
}

function checkNotice({ ok, elapsed_ms: ms, problem, usage }) {
  if (!ok) return notice("error", "checkFailed", { reason: problem });
  const tokens = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  return notice("info", "checkDone", { ms: Math.round(ms), n: tokens });
}
