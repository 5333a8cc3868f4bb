// Problems in words.

import { el, icon } from "./dom.js";
import { say } from "./i18n.js";

// What everybody may meet, in the page's language; the other problems bring their own words.
const BY_TYPE = {
  "too-many-questions": "errorTooManyQuestions",
  "too-many-running": "errorTooManyRunning",
  overloaded: "errorOverloaded",
  unavailable: "errorUnavailable",
};

/** The key and parameters of the text that tells a problem. */
export function problemText(problem) {
  if (problem.status === 0) return ["errorNetwork"];
  const known = BY_TYPE[problem.type];
  if (known && problem.retry_after) return [known, { n: problem.retry_after }];
  const fields = (problem.errors ?? []).map(({ field, message }) => `${field}: ${message}`);
  const message = [problem.detail || problem.title, ...fields].filter(Boolean).join(" ");
  if (!message) return ["errorUnknown"];
  return problem.retry_after ? ["errorRetry", { message, n: problem.retry_after }] : ["error", { message }];
}

/** A line with an icon: `tone` is info, warn or error. */
export function notice(tone, key, params) {
  return el("p", { class: `notice notice-${tone}`, dir: "auto" }, icon(tone === "info" ? "info" : "warn"), say(el("span"), key, params));
}
