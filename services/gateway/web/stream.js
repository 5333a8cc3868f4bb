// One answer's frames, however often the connection breaks: asked once, then only followed.

import { ProblemError } from "./api.js";
import { EventParser } from "./sse.js";

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
// The server sends a heartbeat every 15 s; a connection that is silent for three of them is dead.
const SILENCE_MS = 45_000;
const TERMINAL = new Set(["done", "error"]);

export class AnswerStream {
  #api;
  #abort = new AbortController();
  #lastId = 0;
  #isEnded = false;
  #onFrame;
  #onConnection;

  /** `onFrame(event, data)` gets every frame once; `onConnection(isConnected)` tells when it breaks and heals. */
  constructor(api, { onFrame, onConnection }) {
    this.#api = api;
    this.#onFrame = onFrame;
    this.#onConnection = onConnection;
  }

  /** Stop reading; the answer goes on without us. */
  close() {
    this.#isEnded = true;
    this.#abort.abort();
  }

  /** Ask and read to the end; `onAccepted` gets the id. Raises ProblemError when the question is not accepted. */
  async ask(body, key, onAccepted) {
    const response = await this.#api.ask(body, key, this.#abort.signal);
    const id = response.headers.get("X-Question-Id");
    onAccepted(id);
    await this.#read(response);
    await this.#followUntilEnd(id, 0);
  }

  /** Read a question's answer from the start to the end. Raises ProblemError when there is no such question. */
  async follow(id) {
    await this.#followUntilEnd(id, 0);
  }

  async #followUntilEnd(id, firstPause) {
    // The first attempt is made at once: most breaks are a proxy's or a deploy's, and short.
    let pause = firstPause;
    while (!this.#isEnded) {
      if (pause > 0) await this.#wait(pause * (0.75 + Math.random() / 2));
      const before = this.#lastId;
      const isConnected = await this.#connect(id);
      const hasProgressed = isConnected && this.#lastId > before;
      pause = hasProgressed ? 0 : Math.min(MAX_PAUSE_MS, Math.max(FIRST_PAUSE_MS, pause * 2));
      if (!this.#isEnded) this.#onConnection(false);
    }
  }

  async #connect(id) {
    try {
      const response = await this.#api.events(id, this.#lastId, this.#abort.signal);
      this.#onConnection(true);
      await this.#read(response);
      return true;
    } catch (error) {
      if (isFinal(error)) {
        this.#isEnded = true;
        if (error.name !== "AbortError") throw error;
      }
      return false;
    }
  }

  /** Read a response until its end, the answer's end or a break; a break is no error here. */
  async #read(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    let isOpen = true;
    while (isOpen && !this.#isEnded) {
      // A broken or silent connection ends this response like its regular end; the caller follows with a new one.
      const { done, value } = await within(SILENCE_MS, reader.read()).catch(() => ({ done: true }));
      isOpen = !done && parser.feed(value).every((frame) => this.#take(frame));
    }
    reader.cancel().catch(() => {});
  }

  /** Whether to read on. */
  #take({ event, data, id }) {
    if (this.#isEnded || event === "reconnect") return false;
    const number = Number(id) || 0;
    // `sources` again means that the answer starts anew, and the end may come twice.
    const isRepeated = number > 0 && number <= this.#lastId && event !== "sources" && !TERMINAL.has(event);
    if (isRepeated) return true;
    this.#lastId = number || this.#lastId;
    this.#isEnded = TERMINAL.has(event);
    this.#onFrame(event, JSON.parse(data));
    return !this.#isEnded;
  }

  #wait(ms) {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        window.removeEventListener("online", wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      window.addEventListener("online", wake);
      this.#abort.signal.addEventListener("abort", wake, { once: true });
    });
  }
}

/** Whether asking again cannot help: closed by us, not ours, or unknown. */
function isFinal(error) {
  if (!(error instanceof ProblemError)) return true;
  return error.status >= 400 && error.status < 500 && error.status !== 429;
}

function within(ms, promise) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("silent")), ms);
  });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}
