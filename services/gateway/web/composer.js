// The question box.

import { byId } from "./dom.js";

const IME_KEY_CODE = 229;

export class Composer {
  #form = byId("composer");
  #box = byId("question");
  #send = byId("send");
  #stop = byId("stop");
  #isRunning = false;

  /** `onAsk(question)` and `onStop()`. */
  constructor({ onAsk, onStop }) {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(onAsk);
    });
    this.#box.addEventListener("keydown", (event) => {
      // While an input method composes, Enter chooses a candidate.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === IME_KEY_CODE) return;
      event.preventDefault();
      this.#submit(onAsk);
    });
    this.#box.addEventListener("input", () => this.#refresh());
    this.#stop.addEventListener("click", () => {
      this.#stop.disabled = true;
      onStop();
    });
    this.#refresh();
  }

  focus() {
    this.#box.focus();
  }

  setRunning(isRunning) {
    const hadFocus = this.#form.contains(document.activeElement);
    this.#isRunning = isRunning;
    this.#send.hidden = isRunning;
    this.#stop.hidden = !isRunning;
    this.#stop.disabled = false;
    if (hadFocus) this.#box.focus();
  }

  /** Let the reader press stop again. */
  allowStop() {
    this.#stop.disabled = false;
  }

  /** Put a refused question back, unless another one has been begun. */
  restore(question) {
    this.#box.value ||= question;
    this.#refresh();
  }

  #submit(onAsk) {
    const question = this.#box.value.trim();
    if (!question || this.#isRunning) return;
    this.#box.value = "";
    this.#refresh();
    onAsk(question);
  }

  #refresh() {
    this.#send.disabled = this.#box.value.trim() === "";
    this.#box.style.height = "auto";
    this.#box.style.height = `${this.#box.scrollHeight}px`;
  }
}
