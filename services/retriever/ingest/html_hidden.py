"""Which parts of an HTML page its reader does not see, and whether it is too deep to be read at all."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from retriever.ingest.document import UnreadableDocument
from retriever.ingest.limits import MAX_DEPTH

_HIDING: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:font-size|opacity)\s*:\s*0(?![.\d])(?!\.)"
    r"|(?:text-indent|left|top)\s*:\s*-\d{4,}"
)
_SHOWING: Final = re.compile(r"display\s*:(?!\s*none)|visibility\s*:\s*visible")
_CSS_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_CSS_TOKEN: Final = re.compile(r"[{}]")
_NAMES: Final = re.compile(r"[.#][\w:-]+")
# `.name`, `#name` or `tag.name`: what else there is depends on the elements around.
_SIMPLE: Final = re.compile(r"[a-z0-9]*([.#][\w-]+)")

_TAG: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Tags that nothing is in, and those that the next one of their kind ends.
_SHALLOW: Final = frozenset(
    {
        *(
            "area",
            "base",
            "br",
            "col",
            "embed",
            "hr",
            "img",
            "input",
            "link",
            "meta",
            "param",
            "source",
            "track",
            "wbr",
        ),
        *("p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "option", "optgroup", "colgroup"),
    }
)


def check_depth(html: str) -> None:
    """Raises UnreadableDocument for a page whose tags lie too deep in one another; counts without parsing."""
    depth = 0
    for closing, name in _TAG.findall(html):
        if name.lower() not in _SHALLOW:
            depth = max(0, depth - 1) if closing else depth + 1
            if depth > MAX_DEPTH:
                raise UnreadableDocument(f"has tags more than {MAX_DEPTH:,} deep in one another")


@dataclass(frozen=True)
class HiddenParts:
    """Names of classes, with a dot, and ids, with a number sign, and the last rule that hides and that shows each."""

    hidden: Mapping[str, float]
    shown: Mapping[str, float]

    def hide(self, node: LexborNode) -> bool:
        """Whether a node with all that is in it is not seen."""
        attributes = node.attributes
        if "hidden" in attributes or attributes.get("aria-hidden") == "true":
            return True
        if node.tag == "dialog" and "open" not in attributes:
            return True
        style = (attributes.get("style") or "").lower()
        if _HIDING.search(style) or _SHOWING.search(style):
            return not _SHOWING.search(style)
        return bool(self.hidden) and self._is_hidden_by_sheet(list(_own_names(attributes)))

    def _is_hidden_by_sheet(self, names: Sequence[str]) -> bool:
        hidden = max(self.hidden.get(name, -1) for name in names)
        return hidden > max(self.shown.get(name, -1) for name in names)


def hidden_parts(tree: LexborHTMLParser) -> HiddenParts:
    """What simple rules of the page's own style sheets hide.

    A later rule wins; one that shows something under some condition always does, since conditions are not looked at.
    """
    hidden: dict[str, float] = {}
    shown: dict[str, float] = {}
    rules = (rule for sheet in tree.css("style") for rule in _rules(sheet.text().lower()))
    for order, (selectors, body, is_conditional) in enumerate(rules):
        for selector in map(str.strip, selectors.split(",")):
            simple = None if is_conditional else _SIMPLE.fullmatch(selector)
            if _SHOWING.search(body):
                shown.update(dict.fromkeys(_NAMES.findall(selector), order if simple else math.inf))
            elif simple and _HIDING.search(body):
                hidden[simple.group(1)] = order
    return HiddenParts(hidden, shown)


def _own_names(attributes: dict[str, str | None]) -> Iterator[str]:
    for name in (attributes.get("class") or "").lower().split():
        yield f".{name}"
    yield f"#{(attributes.get('id') or '').lower()}"


def _rules(css: str) -> Iterator[tuple[str, str, bool]]:
    """Selectors, body, and whether the rule holds for some media only."""
    css = _CSS_COMMENT.sub("", css).replace("\\", "")
    depth = start = 0
    selectors = ""
    for token in _CSS_TOKEN.finditer(css):
        between = css[start : token.start()]
        start = token.end()
        if token.group() == "{":
            depth += 1
            selectors = between.rpartition(";")[2]
        else:
            yield selectors, between, depth > 1
            depth = max(0, depth - 1)
