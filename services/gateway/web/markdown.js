// Markdown to safe elements: no HTML, no images, links only to the web.

import DOMPurify from "./vendor/dompurify-3.5.0.js";
import { Marked } from "./vendor/marked-18.2.1.js";

const WEB_ADDRESS = /^https?:\/\//i;
const ALLOWED = {
  ALLOWED_TAGS: [
    ..."p br strong em del code pre blockquote ul ol li h3 h4 h5 h6 hr a".split(" "),
    ..."table thead tbody tr th td".split(" "),
  ],
  ALLOWED_ATTR: ["href", "align", "start"],
  ALLOWED_URI_REGEXP: WEB_ADDRESS,
  // No addresses, so the pattern above is not for them.
  ADD_URI_SAFE_ATTR: ["align", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

const escaped = (text) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  // HTML in an answer is text like any other; a line `[1]: address` must not turn every [1] into a link to there.
  tokenizer: { html: () => undefined, tag: () => undefined, def: () => undefined },
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ raw }) => escaped(raw),
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    link({ href, raw, tokens }) {
      if (!WEB_ADDRESS.test(href)) return escaped(raw);
      return `<a href="${escaped(href)}">${this.parser.parseInline(tokens)}</a>`;
    },
  },
});

const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  } else if (/^(P|LI|H\d|BLOCKQUOTE|TD|TH)$/.test(node.nodeName)) {
    node.setAttribute("dir", "auto");
  }
});

/** The blocks of a text; each has its `raw` text. */
export const blocksOf = (text) => marked.lexer(text);

/** Blocks, or a whole text, as a document fragment. */
export function render(text) {
  const fragment = purify.sanitize(marked.parse(text), ALLOWED);
  for (const table of fragment.querySelectorAll("table")) {
    // A wide table scrolls by itself, by keyboard too.
    const frame = document.createElement("div");
    frame.className = "table-frame";
    frame.tabIndex = 0;
    table.replaceWith(frame);
    frame.append(table);
  }
  return fragment;
}
