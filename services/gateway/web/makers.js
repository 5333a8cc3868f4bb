// Who planned the search and who wrote the text, and what that cost.

import { el } from "./dom.js";
import { say } from "./i18n.js";

/** Short texts: who planned, who wrote, and what was asked instead; none for what did not happen. */
export function makersOf({ planner, generator }) {
  const made = [];
  if (planner) made.push(said("planned", planner, "rules"));
  if (generator) made.push(said("written", generator, "extractive"));
  if (planner?.rewritten_question) made.push(rewritten(planner.rewritten_question));
  return made;
}

function said(what, { made_by: maker, provider, model }, otherwise) {
  const known = maker === "model" || maker === "rules" ? maker : otherwise;
  return say(el("span", { dir: "auto" }), `${what}_${known}`, { provider, model });
}

/** Whether the planner's model itself said that nothing has to be searched. */
export const isSearchSpared = ({ planner }) => planner?.search_needed === false;

function rewritten(question) {
  return el("span", {}, say(el("span"), "rewritten"), " ", el("bdi", { class: "rewritten" }, question));
}

/** The tokens that models used, one list item for each that was asked. */
export function usageOf({ planner, generator }) {
  const spent = [
    ["usagePlanner", planner?.usage],
    ["usageGenerator", generator?.usage],
  ];
  return spent.filter(([, usage]) => usage).map(([key, usage]) => el("li", {}, say(el("span"), key), " · ", tokens(usage)));
}

/** The tokens of one or more requests, in words. */
export function tokens({ input_tokens: input, cached_tokens: cached, output_tokens: output, reasoning_tokens: reasoning, requests }) {
  const told = say(el("span"), "tokens", { input, output });
  const thought = reasoning > 0 && [" ", say(el("span"), "tokensReasoning", { n: reasoning })];
  const spared = cached > 0 && [" · ", say(el("span"), "tokensCached", { n: cached })];
  return el("span", {}, told, thought, spared, " · ", say(el("span"), "requests", { n: requests }));
}
