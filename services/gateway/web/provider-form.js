// The form of one provider: its fields, its key (which only goes in), and the errors that the server names.

import { el } from "./dom.js";
import { say } from "./i18n.js";
import { GROUPS, valuesOf } from "./provider-fields.js";

let forms = 0;

export class ProviderForm {
  element = el("form", { class: "fields provider-form", novalidate: true, autocomplete: "off" });
  #provider;
  #prefix = `provider-${(forms += 1)}`;
  #onSave;

  /** `provider` is as the server shows it, null for a new one; `onSave(name, values)` sends it. */
  constructor(provider, onSave) {
    this.#provider = provider;
    this.#onSave = onSave;
    const groups = GROUPS.map((group) => this.#group(group));
    groups[0].querySelector(".field").after(this.#key(), ...this.#keyRemover());
    const save = say(el("button", { type: "submit", class: "button button-primary" }), "save");
    this.element.append(...(provider ? [] : [this.#name()]), ...groups, el("div", { class: "provider-buttons" }, save));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save(save);
    });
  }

  /** Buttons beside the one that saves. */
  addButtons(...buttons) {
    this.element.querySelector(".provider-buttons").append(...buttons);
  }

  /** Show each error, `{field, message}` or `{field, key}`, at its field and go to the first; whether all have one. */
  showErrors(errors) {
    this.#clearErrors();
    const shown = errors.map(({ field, message, key = "error" }) => this.#showError(field.split(".")[0], key, { message }));
    this.element.querySelector("[aria-invalid]")?.focus();
    return shown.every(Boolean);
  }

  #showError(name, key, params) {
    const control = this.element.elements.namedItem(name);
    if (!control) return false;
    control.closest("details").open = true;
    control.setAttribute("aria-invalid", "true");
    const error = this.element.querySelector(`#${this.#prefix}-${name}-error`);
    say(error, key, params).hidden = false;
    return true;
  }

  #clearErrors() {
    for (const control of this.element.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
    for (const error of this.element.querySelectorAll(".field-error")) error.hidden = true;
  }

  async #save(button) {
    this.#clearErrors();
    button.disabled = true;
    const { name, key, remove_key: remove } = this.element.elements;
    const values = valuesOf(this.element);
    if (key.value) values.key = key.value;
    else if (remove?.checked) values.key = "";
    await this.#onSave(this.#provider?.name ?? name.value.trim(), values);
    button.disabled = false;
  }

  #group({ title, isFolded, fields }) {
    const parts = fields.map((field) => this.#field(field));
    if (isFolded) return el("details", { class: "provider-more" }, say(el("summary"), title), ...parts);
    return el("fieldset", {}, say(el("legend"), title), ...parts);
  }

  #field(field) {
    const { name, kind } = field;
    const value = this.#provider?.[name];
    if (kind === "switch") return this.#switch(name, value ?? name === "sends_temperature");
    const control = kind === "choice" ? this.#choice(field) : this.#input(field);
    control.value = value ?? field.options?.[0] ?? "";
    return this.#labelled(name, control);
  }

  #choice({ name, options }) {
    const items = options.map((option) => say(el("option", { value: option }), `option_${name}_${option}`));
    return el("select", { name }, ...items);
  }

  #input({ name, kind, mode, placeholder }) {
    const inputmode = kind === "text" ? mode : "decimal";
    return el("input", { name, inputmode, placeholder, autocapitalize: "none", spellcheck: "false", autocomplete: "off" });
  }

  #switch(name, isOn) {
    const box = el("input", { type: "checkbox", name, role: "switch", ...this.#described(name) });
    box.checked = isOn;
    const caption = el("label", { class: "switch" }, box, say(el("span"), `field_${name}`));
    return el("div", { class: "field" }, caption, ...this.#notes(name));
  }

  #labelled(name, control) {
    for (const [attribute, value] of Object.entries(this.#described(name))) control.setAttribute(attribute, value);
    control.id = `${this.#prefix}-${name}`;
    const caption = say(el("label", { for: control.id }), `field_${name}`);
    return el("div", { class: "field" }, caption, control, ...this.#notes(name));
  }

  #described = (name) => ({ "aria-describedby": `${this.#prefix}-${name}-help ${this.#prefix}-${name}-error` });

  #notes(name) {
    const help = say(el("p", { id: `${this.#prefix}-${name}-help`, class: "help muted" }), `help_${name}`);
    return [help, el("p", { id: `${this.#prefix}-${name}-error`, class: "field-error", dir: "auto", hidden: true })];
  }

  #name() {
    return this.#labelled("name", this.#input({ name: "name", kind: "text" }));
  }

  #key() {
    const mask = this.#provider?.key ?? "";
    const input = el("input", { type: "password", name: "key", autocomplete: "off", spellcheck: "false", placeholder: mask });
    return this.#labelled("key", input);
  }

  #keyRemover() {
    if (!this.#provider?.key) return [];
    const box = el("input", { type: "checkbox", name: "remove_key" });
    return [el("label", { class: "switch" }, box, say(el("span"), "removeKey", { mask: this.#provider.key }))];
  }
}
