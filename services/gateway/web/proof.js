// How well quotes are proved, in words and signs; colours only repeat them.

import { el, icon } from "./dom.js";
import { say } from "./i18n.js";

const PROVED = new Set(["exact", "normalised"]);
// The best first: a number tells the worst of its quotes.
const KEYS = ["exact", "normalised", "found", "stitched", "misattributed", "not_found"].map((name) => `verdict_${name}`);
const ICONS = { proved: "check", found: "about", unproved: "warn", unquoted: "unknown" };

/** What a quote is worth: `proved`, `found` (by citewire, for a sentence that quotes nothing) or `unproved`. */
export function standingOf({ verdict, origin }) {
  if (!PROVED.has(verdict)) return "unproved";
  return origin === "found" ? "found" : "proved";
}

/** The text that tells a quote's verdict. */
export const verdictKey = (quote) => (standingOf(quote) === "found" ? "verdict_found" : `verdict_${quote.verdict}`);

/** How one use of a number stands by its quotes: `standing` (`unquoted` without any) and the `key` of its reason. */
export function worstOf(quotes) {
  if (quotes.length === 0) return { standing: "unquoted", key: "verdict_unquoted" };
  const place = (quote) => KEYS.indexOf(verdictKey(quote));
  const worst = quotes.reduce((one, other) => (place(one) >= place(other) ? one : other));
  return { standing: standingOf(worst), key: verdictKey(worst) };
}

/** How many quotes are proved and how many passages were found, one line for each of the two. */
export function proofLines(quotes) {
  const given = quotes.filter((quote) => quote.origin !== "found");
  const ok = given.filter((quote) => standingOf(quote) === "proved").length;
  const lines = [];
  if (given.length > 0) {
    const isWhole = ok === given.length;
    lines.push(proofLine(isWhole ? "proved" : "unproved", isWhole ? "verified" : "verifiedSome", { n: given.length, ok }));
  }
  const found = quotes.length - given.length;
  if (found > 0) lines.push(proofLine("found", "passagesFound", { n: found }));
  return lines;
}

/** A line with the sign of a standing. */
export function proofLine(standing, key, params) {
  return el("span", { class: `proof is-${standing}` }, icon(ICONS[standing]), say(el("span"), key, params));
}
