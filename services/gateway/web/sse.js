// Server-sent events from a byte stream, as the HTML standard parses them.

const LINE_END = /\r\n|\n|\r/g;

/** Takes decoded text in pieces of any size; gives the events that are complete. */
export class EventParser {
  #rest = "";
  #event = "";
  #data = [];
  #id = null;

  /** The events that end in this piece, as `{event, data, id}`; `id` is null where none was given. */
  feed(text) {
    const events = [];
    const buffer = this.#rest + text;
    let start = 0;
    for (const match of buffer.matchAll(LINE_END)) {
      // A CR at the very end may be half of a CRLF.
      if (match[0] === "\r" && match.index === buffer.length - 1) break;
      const event = this.#line(buffer.slice(start, match.index));
      if (event) events.push(event);
      start = match.index + match[0].length;
    }
    this.#rest = buffer.slice(start);
    return events;
  }

  #line(line) {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
    return null;
  }

  #dispatch() {
    const event = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#event = "";
    this.#data = [];
    this.#id = null;
    return isEmpty ? null : event;
  }
}
