// Makes numbers in a rendered answer clickable.
//
// Where citations stand is the server's finding (`answer_start`, `answer_end`): those ranges are replaced by a
// placeholder before Markdown is rendered, and the placeholder by buttons afterwards. The placeholder keeps brackets
// around it, because emphasis in Markdown depends on punctuation. Without ranges (while streaming, and for numbers
// that no source has) only plain `[n]` and `[n, m]` are taken.

import { unitIndex } from "./codepoints.js";

const PRIVATE_USE = [0xe000, 0xf8ff];
const SKIPPED = "a, code, pre, button";
// An opening bracket directly after an ASCII word is an index, such as arr[7].
const PLAIN_MARKER = /(?<![A-Za-z0-9_])[[［]([1-9]\d{0,2}(?:\s?[,，、]\s?[1-9]\d{0,2})*)[\]］]|【([1-9]\d{0,2})(?:†[^】\n]{0,200})?】/g;

/**
 * The text with placeholders for all cited ranges, and what stands for each.
 * Gives `{text, sign, markers}`; a marker is `{raw, uses: [{number, quotes}]}`.
 */
export function holdPlaces(text, citations) {
  const index = unitIndex(text);
  const markers = [...byRange(citations).values()].sort((one, other) => one.start - other.start);
  const sign = unusedCharacter(text);
  const parts = [];
  let end = 0;
  markers.forEach((marker, position) => {
    const from = index(marker.start);
    if (from < end) return;
    parts.push(text.slice(end, from), `[${sign}${position}${sign}]`);
    end = index(marker.end);
    marker.raw = text.slice(from, end);
  });
  return { text: parts.join("") + text.slice(end), sign, markers };
}

/** The text without its cited markers. */
export function withoutMarkers(text, citations) {
  const { text: held, sign } = holdPlaces(text, citations);
  return held.replace(new RegExp(`[ \\t]?\\[${sign}\\d+${sign}\\]`, "g"), "");
}

function byRange(citations) {
  const markers = new Map();
  for (const { number, quotes } of citations) {
    for (const quote of quotes) {
      const key = `${quote.answer_start}-${quote.answer_end}`;
      if (!markers.has(key)) markers.set(key, { start: quote.answer_start, end: quote.answer_end, uses: new Map() });
      const { uses } = markers.get(key);
      uses.set(number, [...(uses.get(number) ?? []), quote]);
    }
  }
  return markers;
}

function unusedCharacter(text) {
  let code = PRIVATE_USE[0];
  while (code < PRIVATE_USE[1] && text.includes(String.fromCharCode(code))) code += 1;
  return String.fromCharCode(code);
}

/** Replace the placeholders within `root` by what `make(marker)` gives. */
export function fillPlaces(root, { sign, markers }, make) {
  const pattern = new RegExp(`\\[${sign}(\\d+)${sign}\\]`, "g");
  // In code the server finds no marker; should they disagree, the text must still be whole.
  replaceInText(root, pattern, ([, position], parent) =>
    parent.closest(SKIPPED) ? markers[position].raw : make(markers[position]),
  );
}

/** Replace plain markers outside code and links by what `make(raw, numbers)` gives; null leaves the text. */
export function linkPlain(root, make) {
  replaceInText(root, PLAIN_MARKER, ([raw, plain, wide], parent) => {
    if (parent.closest(SKIPPED)) return null;
    const numbers = (plain ?? wide).split(/\D+/).map(Number);
    return make(raw, numbers);
  });
}

function replaceInText(root, pattern, make) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    const parts = [];
    let end = 0;
    for (const match of node.data.matchAll(pattern)) {
      const made = node.parentElement ? make(match, node.parentElement) : make(match, root);
      if (made === null) continue;
      parts.push(node.data.slice(end, match.index), made);
      end = match.index + match[0].length;
    }
    if (parts.length > 0) node.replaceWith(...parts, node.data.slice(end));
  }
}
