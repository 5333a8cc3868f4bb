// Two languages. Elements remember what they say, so that a switch retells the whole page.

import { TEXTS } from "./texts.js";

const STORAGE_KEY = "citewire.language";
const listeners = [];
let language = initialLanguage();
let plurals = new Intl.PluralRules(language);

function initialLanguage() {
  const stored = localStorage.getItem(STORAGE_KEY);
  if (stored in TEXTS) return stored;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

/** The text of a key with its `{parameters}`; a text in plural forms chooses by `n`. */
export function t(key, params = {}) {
  const entry = TEXTS[language][key];
  const text = typeof entry === "string" ? entry : (entry[plurals.select(params.n)] ?? entry.other);
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in params ? formatted(params[name]) : whole));
}

/** A parameter: a number in the language's way, `{say: key, …}` for a text of its own, a list of such, or a text as it is. */
function formatted(value) {
  if (typeof value === "number") return value.toLocaleString(language);
  if (Array.isArray(value)) return value.map(formatted).join(language === "zh" ? "、" : ", ");
  return typeof value === "object" ? t(value.say, value) : value;
}

/** Let an element say this text, in whatever language is chosen. Gives the element. */
export function say(node, key, params = {}) {
  node.dataset.say = key;
  node.dataset.sayWith = JSON.stringify(params);
  return retell(node);
}

/** The same for its accessible name, which a pointer sees as tooltip. */
export function label(node, key, params = {}) {
  node.dataset.label = key;
  node.dataset.labelWith = JSON.stringify(params);
  return retell(node);
}

function retell(node) {
  const { say: text, sayWith, label: name, labelWith, placeholder } = node.dataset;
  if (text) node.textContent = t(text, JSON.parse(sayWith ?? "{}"));
  if (placeholder) node.placeholder = t(placeholder);
  if (!name) return node;
  const told = t(name, JSON.parse(labelWith ?? "{}"));
  node.setAttribute("aria-label", told);
  node.title = told;
  return node;
}

/** Retell the page in its language. */
export function tellAll() {
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  document.querySelectorAll("[data-say], [data-label], [data-placeholder]").forEach(retell);
  for (const listener of listeners) listener();
}

/** Change to the other language, and keep that for the next visit. */
export function switchLanguage() {
  language = language === "zh" ? "en" : "zh";
  plurals = new Intl.PluralRules(language);
  localStorage.setItem(STORAGE_KEY, language);
  tellAll();
}

/** Call `listener` after each change of language. */
export function onLanguage(listener) {
  listeners.push(listener);
}

/** A date, short: the time today, else the day. */
export function shortDate(iso) {
  const date = new Date(iso);
  const isToday = date.toDateString() === new Date().toDateString();
  const options = isToday ? { hour: "numeric", minute: "2-digit" } : { month: "short", day: "numeric" };
  return date.toLocaleString(language, options);
}
