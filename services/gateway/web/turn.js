// One question with its answer, live or stored.

import { Answer } from "./answer.js";
import { el, icon } from "./dom.js";
import { say } from "./i18n.js";
import { makersOf } from "./makers.js";
import { withoutMarkers } from "./markers.js";
import { detailsOf, summaryOf, warningsOf } from "./notes.js";
import { notice, problemText } from "./problems.js";
import { SourceList, stateOf } from "./sources.js";

const COPIED_MS = 1500;

export class Turn {
  element = el("article", { class: "turn" });
  question;
  #passage;
  #announce;
  #onRetry;
  #sources = new Map();
  #citations = new Map();
  #queries = [];
  #planner = null;
  #isEnded = false;
  #state = el("p", { class: "state" });
  #list;
  #answer;
  #foot = el("footer", { class: "turn-foot" });

  /** `passage` opens sources, `announce(key, params)` tells screen readers, `onRetry(question)` asks again. */
  constructor(question, { passage, announce, onRetry }) {
    this.question = question;
    this.#passage = passage;
    this.#announce = announce;
    this.#onRetry = onRetry;
    this.#list = new SourceList((number) => this.#open(number));
    this.#answer = new Answer((number, quotes) => this.#open(number, quotes));
    const asked = el("h2", { class: "question", dir: "auto" }, question);
    this.element.append(asked, this.#list.element, this.#answer.element, this.#state, this.#foot);
  }

  /** Retrieval runs over so many knowledge bases. */
  search(kbs) {
    if (kbs > 0) this.#tell("searching", { n: kbs });
    else this.#tell("thinking");
  }

  /** The connection broke, or is back. */
  showConnection(isConnected) {
    if (isConnected) this.#tell(this.#answer.text ? "writing" : "thinking");
    else this.#tell("reconnecting");
  }

  /** A `sources` frame: the answer starts, or starts anew. */
  showSources(frame) {
    this.#takeSources(frame);
    this.#tell("thinking");
  }

  #takeSources({ sources, queries, planner = null }) {
    this.#isEnded = false;
    this.#citations.clear();
    this.#planner = planner;
    this.#sources = new Map(sources.map((source) => [source.number, source]));
    this.#queries = queries;
    this.#list.show(sources);
    this.#answer.start(this.#sources);
  }

  append(text) {
    if (!this.#answer.text) this.#tell("writing");
    this.#answer.append(text);
  }

  /** A `done` frame. */
  finish(done) {
    this.#show(this.#answer.text, done);
    const cited = done.citations.length;
    if (done.status !== "finished") this.#announce("answerEnded");
    else this.#announce(cited > 0 ? "answered" : "answeredNoSource", { n: cited });
  }

  /** A stored interaction that has ended. */
  showStored(interaction) {
    this.#takeSources({ ...interaction, queries: interaction.search_queries });
    if (interaction.sources.length === 0) this.#list.element.hidden = interaction.legs.length === 0;
    const { content, citations, dangling_citations } = interaction.model_response;
    this.#show(content, { ...interaction, citations, dangling_citations });
  }

  /** No answer at all. */
  fail(problem) {
    this.#endState();
    const [key, params] = problemText(problem);
    this.#foot.replaceChildren(notice("error", "status_failed"), notice("warn", key, params), this.#actions(true));
    this.#announce("status_failed");
  }

  #show(text, outcome) {
    this.#citations = new Map(outcome.citations.map((citation) => [citation.number, citation]));
    this.#isEnded = true;
    this.#endState();
    this.#answer.finish(text, outcome.citations, outcome.dangling_citations);
    this.#list.markCited(this.#citations, (number, quotes) => this.#open(number, quotes));
    const made = { planner: outcome.planner ?? this.#planner, generator: outcome.generator };
    const details = detailsOf({ ...made, queries: this.#queries, legs: outcome.legs });
    this.#foot.replaceChildren(
      ...warningsOf({ ...outcome, ...made }),
      el("div", { class: "summary" }, ...summaryOf(outcome)),
      el("div", { class: "makers" }, ...makersOf(made)),
      ...(details ? [details] : []),
      this.#actions(outcome.status !== "finished"),
    );
  }

  #actions(canRetry) {
    const actions = el("div", { class: "actions" });
    if (canRetry) {
      const retry = el("button", { type: "button", class: "button" }, icon("retry"), say(el("span"), "retry"));
      retry.addEventListener("click", () => this.#onRetry(this.question));
      actions.append(retry);
    }
    if (!this.#answer.text) return actions;
    actions.append(this.#copier("copy", () => this.#answer.text));
    if (this.#citations.size > 0) {
      actions.append(this.#copier("copyPlain", () => withoutMarkers(this.#answer.text, [...this.#citations.values()])));
    }
    return actions;
  }

  #copier(key, textOf) {
    const caption = say(el("span"), key);
    const button = el("button", { type: "button", class: "button button-quiet" }, icon("copy"), caption);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(textOf());
      say(caption, "copied");
      this.#announce("copied");
      setTimeout(() => say(caption, key), COPIED_MS);
    });
    // Browsers give the clipboard to secure pages only.
    button.hidden = !navigator.clipboard;
    return button;
  }

  /** While the answer runs, and for a source that it does not cite, there are no quotes to tell of: null. */
  #open(number, quotes = null) {
    const source = this.#sources.get(number);
    const citation = this.#citations.get(number);
    if (!source) return;
    const shown = { ...source, state: stateOf(source, citation) };
    this.#passage.open(shown, { quotes: quotes ?? citation?.quotes ?? null, isEnded: this.#isEnded, sources: this.#sources });
  }

  #tell(key, params) {
    this.#state.hidden = false;
    say(this.#state, key, params);
    if (this.element.isConnected) this.#announce(key, params);
  }

  #endState() {
    this.#state.hidden = true;
  }
}
