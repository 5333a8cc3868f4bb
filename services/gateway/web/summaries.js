// How far a model's summaries of documents are, and what they cost.

import { el } from "./dom.js";
import { say } from "./i18n.js";
import { tokens } from "./makers.js";

/** Whether a model is still to be asked about a document. */
export const arePending = ({ documents }) => documents.waiting + documents.summarising > 0;

/** How many documents a model can be asked to summarise: those that have no summaries, and none coming. */
export const countUnsummarised = ({ documents }) => documents.plain + documents.failed;

/** The parts of a line on a knowledge base: how many documents have summaries, and their cost; none where no model was asked. */
export function summariesOf({ documents, usage }) {
  const { plain, ...asked } = documents;
  if (!usage && Object.values(asked).every((n) => n === 0)) return [];
  const counts = Object.entries({ ...asked, plain }).filter(([, n]) => n > 0);
  const states = counts.map(([state, n]) => ({ say: `summaries_${state}`, n }));
  const told = say(el("span"), "summaries", { states });
  return usage ? [told, " · ", tokens(usage)] : [told];
}

/** What a document's summaries lack, and why; false where they lack nothing, or no model was asked. */
export function lackOf({ state, reason }) {
  const isLacking = state === "partial" || state === "failed";
  return isLacking && say(el("span", { class: "muted", dir: "auto" }), `summariesOf_${state}`, { reason: reason ?? "" });
}
