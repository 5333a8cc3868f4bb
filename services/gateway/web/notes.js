// What stands under an answer: what to know about it, and how it was found.

import { el } from "./dom.js";
import { say } from "./i18n.js";
import { kbTitle } from "./kbs.js";
import { isSearchSpared, usageOf } from "./makers.js";
import { notice } from "./problems.js";
import { proofLines } from "./proof.js";

const NAMED_LEGS = new Set(["lexical", "dense"]);
const legName = (leg) => (NAMED_LEGS.has(leg) ? { say: `leg_${leg}` } : leg);

/** The warnings of a finished answer, the gravest first. */
export function warningsOf(outcome) {
  const notes = [];
  if (outcome.status === "failed") notes.push(notice("error", "status_failed"));
  if (["stopped", "incomplete"].includes(outcome.status)) notes.push(notice("warn", `status_${outcome.status}`));
  if (outcome.withheld?.length > 0 && !outcome.model_response.content) notes.push(notice("warn", "answerWithheld"));
  if (outcome.degraded) notes.push(notice("warn", "degraded", { reason: outcome.degraded }));
  for (const { kb_id: kbId, leg, error } of outcome.legs) {
    if (error) notes.push(notice("warn", "legError", { kb: kbTitle(kbId), leg: legName(leg), error }));
  }
  if (isSearchSpared(outcome)) notes.push(notice("info", "searchSpared"));
  const { level, reason } = outcome.quality ?? { level: "ok" };
  if (level === "weak" || level === "none") {
    notes.push(notice(level === "none" ? "warn" : "info", `quality_${level}`, { reason: reason && `: ${reason}` }));
  }
  if (outcome.dangling_citations.length > 0) {
    const numbers = outcome.dangling_citations.join(", ");
    notes.push(notice("warn", "dangling", { numbers, n: outcome.dangling_citations.length }));
  }
  if (outcome.citations.length === 0 && outcome.status !== "failed") notes.push(notice("info", "noneCited"));
  if (outcome.persisted === false) notes.push(notice("info", "notStored"));
  return notes;
}

/** One line: how many quotes are proved, which knowledge bases answered, how long it took. */
export function summaryOf(outcome) {
  const parts = proofLines(outcome.citations.flatMap((citation) => citation.quotes));
  const answering = [...new Set(outcome.citations.map((citation) => citation.kb_id))];
  if (answering.length > 0) {
    const names = answering.map((kbId) => el("bdi", { class: "kb-name" }, kbTitle(kbId)));
    parts.push(el("span", { class: "answered-from" }, say(el("span"), "answeredFrom"), ...names));
  }
  const total = outcome.elapsed_ms?.total;
  if (total) parts.push(say(el("span"), "seconds", { seconds: Number((total / 1000).toFixed(total < 1000 ? 2 : 1)) }));
  return parts;
}

/** The searches, what each of them gave and what models used, folded. */
export function detailsOf({ queries, legs, planner, generator }) {
  const usage = usageOf({ planner, generator });
  if (queries.length + legs.length + usage.length === 0) return null;
  const queryItems = queries.map(({ query, kb_id: kbId }) =>
    el("li", {}, el("bdi", { class: "kb-name" }, kbTitle(kbId)), " ", el("bdi", {}, query)),
  );
  const legItems = legs.map((leg) => el("li", {}, el("bdi", { class: "kb-name" }, kbTitle(leg.kb_id)), " ", legResult(leg)));
  return el(
    "details",
    { class: "details" },
    say(el("summary"), "details"),
    queryItems.length > 0 && say(el("h4"), "queries"),
    queryItems.length > 0 && el("ul", {}, ...queryItems),
    legItems.length > 0 && say(el("h4"), "legs"),
    legItems.length > 0 && el("ul", {}, ...legItems),
    usage.length > 0 && say(el("h4"), "usage"),
    usage.length > 0 && el("ul", {}, ...usage),
  );
}

function legResult({ leg, hits, elapsed_ms: ms, skipped, error }) {
  const name = say(el("span", { class: "leg-name" }), "legName", { name: legName(leg) });
  const result = el("span", { class: error ? "leg-error" : "" });
  if (error) say(result, "failed", { reason: error });
  else if (skipped) say(result, "skipped", { reason: skipped });
  else say(result, "legHits", { n: hits, ms: Number(ms.toFixed(1)) });
  return el("span", {}, name, " · ", result);
}
