// The open conversation: asks, follows what runs, shows what is stored.

import { ProblemError } from "./api.js";
import { AnswerStream } from "./stream.js";
import { Turn } from "./turn.js";

const RUNNING_KEY = "citewire.running";
const RUNNING = new Set(["pending", "streaming"]);

export class Conversation {
  #api;
  #view;
  #turns = new Map();
  #run = null;
  // A question that was sent and not heard of: sent again, it must not run twice.
  #unheard = null;
  #channel = new BroadcastChannel("citewire");
  sessionId = null;

  /**
   * `view` has `add(element)`, `clear()`, `toEnd()`, `setRunning(isRunning)`, `setScope(kbIds | null)`, `scope()`,
   * `refuse(question, problem)`, `announce(key, params)`, `openSession(id)`, `sessionsChanged()` and `passage`.
   */
  constructor(api, view) {
    this.#api = api;
    this.#view = view;
    this.#channel.addEventListener("message", ({ data }) => this.#hear(data));
  }

  get isRunning() {
    return this.#run !== null;
  }

  /** An empty conversation. What runs goes on, and will be found in the list. */
  startNew() {
    this.#leave(null);
    this.#view.setScope(null);
  }

  /** Show a stored conversation, and follow what runs in it. Raises ProblemError. */
  async open(sessionId) {
    this.#leave(sessionId);
    let cursor = null;
    do {
      const page = await this.#api.session(sessionId, cursor);
      if (this.sessionId !== sessionId) return;
      this.#view.setScope(page.session.kb_ids);
      for (const interaction of page.interactions) this.#addStored(interaction);
      cursor = page.next_cursor;
    } while (cursor);
    this.#view.toEnd();
  }

  /** After a reload: go on with the answer that ran. */
  async resume() {
    const running = JSON.parse(sessionStorage.getItem(RUNNING_KEY) ?? "null");
    if (running === null || this.#turns.has(running.question_id)) return;
    if (running.session_id !== this.sessionId) return;
    if (running.kb_ids) this.#view.setScope(running.kb_ids);
    await this.#follow(running.question_id, running.question);
  }

  async ask(question) {
    if (this.isRunning) return;
    const kbIds = this.#view.scope();
    const body = this.sessionId ? { question, session_id: this.sessionId } : { question, kb_ids: kbIds };
    const key = this.#keyFor(body);
    const turn = this.#addTurn(question);
    turn.search(kbIds.length);
    this.#view.setScope(kbIds);
    await this.#track(turn, (run) =>
      run.stream.ask(body, key, (id) => {
        this.#unheard = null;
        this.#accepted(run, id, kbIds);
      }),
    );
  }

  /** Stop the answer; what is written stays. Raises ProblemError. */
  async stop() {
    if (this.#run === null) return;
    this.#run.isStopWanted = true;
    if (this.#run.id) await this.#api.stop(this.#run.id);
  }

  #leave(sessionId) {
    this.#run = null;
    this.#turns.clear();
    this.sessionId = sessionId;
    this.#view.setRunning(false);
    this.#view.clear();
    this.#view.passage.close();
  }

  #keyFor(body) {
    const text = JSON.stringify(body);
    if (this.#unheard?.text !== text) this.#unheard = { text, key: crypto.randomUUID?.() ?? randomKey() };
    return this.#unheard.key;
  }

  #addTurn(question) {
    const { passage, announce, add, toEnd } = this.#view;
    const turn = new Turn(question, { passage, announce, onRetry: (again) => this.ask(again) });
    add(turn.element);
    toEnd();
    return turn;
  }

  #addStored(interaction) {
    const { question_id: id, user_input: asked, status } = interaction;
    if (this.#turns.has(id)) return;
    if (RUNNING.has(status)) {
      this.#follow(id, asked.content);
      return;
    }
    const turn = this.#addTurn(asked.content);
    this.#turns.set(id, turn);
    turn.showStored(interaction);
  }

  async #follow(id, question) {
    const turn = this.#addTurn(question);
    turn.search(this.#view.scope().length);
    this.#turns.set(id, turn);
    await this.#track(turn, (run) => {
      run.id = id;
      return run.stream.follow(id);
    });
  }

  async #track(turn, start) {
    const run = { turn, id: null, sessionId: this.sessionId, isStopWanted: false };
    run.stream = new AnswerStream(this.#api, {
      onFrame: (event, data) => this.#take(run, event, data),
      onConnection: (isConnected) => turn.showConnection(isConnected),
    });
    this.#run = run;
    this.#view.setRunning(true);
    try {
      await start(run);
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      this.#refused(run, error);
    } finally {
      this.#ended(run);
    }
  }

  #accepted(run, id, kbIds) {
    run.id = id;
    if (this.#run === run) this.#turns.set(id, run.turn);
    const running = { question_id: id, question: run.turn.question, session_id: run.sessionId, kb_ids: kbIds };
    sessionStorage.setItem(RUNNING_KEY, JSON.stringify(running));
    if (run.sessionId) this.#channel.postMessage({ kind: "asked", ...running });
    if (run.isStopWanted) this.#api.stop(id).catch(() => {});
  }

  #take(run, event, data) {
    if (event === "sources") run.turn.showSources(data);
    else if (event === "delta") run.turn.append(data.text);
    else if (event === "done") {
      run.turn.finish(data);
      this.#belongs(run, data.session_id);
    } else if (event === "error") {
      run.turn.fail(data);
      this.#findSession(run);
    }
  }

  /** An `error` frame names no session; the record of the question does. */
  async #findSession(run) {
    const interaction = await this.#api.question(run.id).catch(() => null);
    if (interaction) this.#belongs(run, interaction.session_id);
  }

  #belongs(run, sessionId) {
    const isShown = this.#turns.get(run.id) === run.turn;
    if (isShown && this.sessionId === null) {
      this.sessionId = sessionId;
      this.#view.openSession(sessionId);
    }
    this.#view.sessionsChanged();
    this.#channel.postMessage({ kind: "changed" });
  }

  #refused(run, { problem, status }) {
    // After a 503 it may have been accepted all the same: asked again with its key, it is still one question.
    if (status !== 0 && status !== 503) this.#unheard = null;
    if (run.id !== null) {
      run.turn.fail(problem);
      return;
    }
    run.turn.element.remove();
    if (this.#run !== run) return;
    if (this.sessionId === null && this.#turns.size === 0) this.#view.setScope(null);
    this.#view.refuse(run.turn.question, problem);
  }

  #ended(run) {
    const running = JSON.parse(sessionStorage.getItem(RUNNING_KEY) ?? "null");
    if (running?.question_id === run.id) sessionStorage.removeItem(RUNNING_KEY);
    if (this.#run !== run) return;
    this.#run = null;
    this.#view.setRunning(false);
  }

  /** Another tab has asked, or has changed the list. */
  #hear(message) {
    if (message.kind === "changed") this.#view.sessionsChanged();
    const isOurs = message.kind === "asked" && message.session_id === this.sessionId;
    if (isOurs && !this.#turns.has(message.question_id)) this.#follow(message.question_id, message.question);
  }
}

/** `randomUUID` exists on secure pages only. */
function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
}
