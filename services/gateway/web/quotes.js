// What the reader is told of an answer's quotes from one source, above that source's text.

import { unitIndex } from "./codepoints.js";
import { el } from "./dom.js";
import { say } from "./i18n.js";
import { notice } from "./problems.js";
import { standingOf, verdictKey, worstOf } from "./proof.js";
import { sourceTitle } from "./sources.js";

/**
 * A notice for each way in which the quotes stand, and one for each that does not.
 * `sources` is a map by number; `onPiece(piece)` opens the place where a part of an unproved quote stands.
 */
export function quoteNotes(quotes, sources, onPiece) {
  if (quotes.length === 0) return [notice("warn", "verdict_unquoted")];
  const by = (standing) => quotes.filter((quote) => standingOf(quote) === standing);
  const standing = ["proved", "found"].map(by).filter((some) => some.length > 0);
  return [
    ...standing.map((some) => notice("info", worstOf(some).key)),
    ...unique(by("unproved")).map((quote) => unproved(quote, sources, onPiece)),
  ];
}

const unique = (quotes) => [...new Map(quotes.map((quote) => [`${quote.verdict} ${quote.cited_text}`, quote])).values()];

function unproved(quote, sources, onPiece) {
  const pieces = quote.pieces ?? [];
  return el(
    "section",
    { class: "unproved" },
    notice("warn", verdictKey(quote)),
    quote.cited_text && el("blockquote", { dir: "auto" }, quote.cited_text),
    pieces.length > 0 && say(el("h3"), "piecesHeading", { n: pieces.length }),
    pieces.length > 0 && el("ol", {}, ...pieces.map((piece) => el("li", {}, pieceLink(piece, sources, onPiece)))),
  );
}

function pieceLink(piece, sources, onPiece) {
  const source = sources.get(piece.number);
  const title = source ? sourceTitle(source) : "";
  const place = el("span", {}, say(el("span"), "pieceSource", { number: piece.number }), " ", el("bdi", {}, title));
  // A source that may no longer be read has no text to open.
  if (!source?.text) return place;
  const button = el("button", { type: "button", class: "link-button piece" }, place);
  button.append(el("q", { dir: "auto" }, textOf(piece, source)));
  button.addEventListener("click", () => onPiece(piece));
  return button;
}

function textOf({ start, end }, source) {
  const index = unitIndex(source.text);
  return source.text.slice(index(start - source.start), index(end - source.start));
}
