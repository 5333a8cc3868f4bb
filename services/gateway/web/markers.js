// Makes numbers in a rendered answer clickable.
//
// Where citations stand is the server's finding (`answer_start`, `answer_end`): those ranges are replaced by a
// placeholder before Markdown is rendered, and the placeholder by buttons afterwards. The placeholder keeps brackets
// around it, because emphasis in Markdown depends on punctuation. Without ranges (while streaming, for numbers that no
// source has, and for those behind which no quote stands) what looks like a marker outside code and links is taken.

import { unitIndex } from "./codepoints.js";

const PRIVATE_USE = [0xe000, 0xf8ff];
const SKIPPED = "a, code, pre, button";
const MAX_RANGE = 50;
const NUMBER = "[1-9１-９][0-9０-９]{0,2}";
const RANGE = `${NUMBER}(?:[ \\t]*[-–][ \\t]*${NUMBER})?`;
const LIST = `[ \\t]*(${RANGE}(?:[ \\t]*[,，、][ \\t]*${RANGE})*)[ \\t]*`;
// An opening bracket directly after an ASCII word is an index, such as arr[7]; after `{`, `^` or `$` it is math.
const PLAIN_MARKER = new RegExp(`(?<![A-Za-z0-9_{^$])\\[${LIST}\\]|［${LIST}］|【${LIST}(?:†[^【】\\n]{0,200})?】`, "g");
// In the raw text what is code, or a link's caption, must be told by its marks.
const CODE = "(`{3,}|~{3,})[^]*?(?:\\1|$)|(`+)[^`]+\\2";
const CODE_OR_MARKER = new RegExp(`${CODE}|[ \\t]?(?:${PLAIN_MARKER.source})(?!\\()`, "g");
const BOUNDS = new RegExp(`(${NUMBER})(?:[ \\t]*[-–][ \\t]*(${NUMBER}))?`, "g");

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

/** The text without its cited markers, with quotes behind them or not. */
export function withoutMarkers(text, citations) {
  const { text: held, sign } = holdPlaces(text, citations);
  const used = new Set(citations.map((citation) => citation.number));
  const rest = held.replace(new RegExp(`[ \\t]?\\[${sign}\\d+${sign}\\]`, "g"), "");
  return rest.replace(CODE_OR_MARKER, (raw, fence, tick, ...listed) => {
    if (fence || tick) return raw;
    const numbers = numbersIn(listed.find((list) => list !== undefined));
    return numbers.length > 0 && numbers.every((number) => used.has(number)) ? "" : raw;
  });
}

function byRange(citations) {
  const markers = new Map();
  for (const { number, quotes } of citations) {
    for (const quote of quotes) {
      if (quote.answer_start === null) continue;
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
  replaceInText(root, PLAIN_MARKER, ([raw, ...listed], parent) => {
    if (parent.closest(SKIPPED)) return null;
    const numbers = numbersIn(listed.find((list) => list !== undefined));
    return numbers.length > 0 ? make(raw, numbers) : null;
  });
}

/** The numbers of a marker such as `[1, 3-5]` or `【2†lines】`; none of a range that runs backwards or too far. */
export function numbersIn(raw) {
  const numbers = new Set();
  for (const [, first, last] of raw.replace(/†.*/, "").matchAll(BOUNDS)) {
    const [from, to] = [first, last ?? first].map((digits) => Number(digits.normalize("NFKC")));
    if (to < from || to - from > MAX_RANGE) return [];
    for (let number = from; number <= to; number += 1) numbers.add(number);
  }
  return [...numbers];
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
