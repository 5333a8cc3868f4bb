// Problems in words.

import { el, icon } from "./dom.js";
import { say } from "./i18n.js";

/** The key and parameters of the text that tells a problem. */
export function problemText(problem) {
  if (problem.status === 0) return ["errorNetwork"];
  const fields = (problem.errors ?? []).map(({ field, message }) => `${field}: ${message}`);
  const message = [problem.detail || problem.title, ...fields].filter(Boolean).join(" ");
  if (!message) return ["errorUnknown"];
  return problem.retry_after ? ["errorRetry", { message, n: problem.retry_after }] : ["error", { message }];
}

/** A line with an icon: `tone` is info, warn or error. */
export function notice(tone, key, params) {
  return el("p", { class: `notice notice-${tone}`, dir: "auto" }, icon(tone === "info" ? "info" : "warn"), say(el("span"), key, params));
}
