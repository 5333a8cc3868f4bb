"""What a Word document's styles say of a paragraph: heading, list item, hidden."""

import re
from dataclasses import dataclass
from typing import Final

from retriever.ingest.office import Element, is_on

WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
VALUE: Final = f"{WORD}val"
# Word writes the English name whatever its language; other programs may not.
_HEADING: Final = re.compile(
    r"(?:heading|标题|標題|見出し|überschrift|titre|título|titolo|заголовок)\s*([1-9])", re.IGNORECASE
)
_TITLE: Final = "title"
_BODY_LEVEL: Final = 9
# Styles that refer to each other in a circle must not be followed for ever.
_MOST_BASES: Final = 20


@dataclass(frozen=True)
class ParagraphStyle:
    """What a paragraph is; `level` is 1 for the highest headings and None for text."""

    level: int | None = None
    is_title: bool = False
    is_item: bool = False
    is_hidden: bool = False


class Styles:
    """The styles of one document, by their ids."""

    def __init__(self, styles: Element) -> None:
        self._styles = {style.get(f"{WORD}styleId"): style for style in styles.iter(f"{WORD}style")}
        self._known: dict[str | None, ParagraphStyle] = {}
        defaults = [style for style in self._styles.values() if is_default_paragraph(style)]
        self._default = defaults[0].get(f"{WORD}styleId") if defaults else None

    def of(self, paragraph: Element) -> ParagraphStyle:
        """What a paragraph's style says, unless the paragraph itself says otherwise."""
        properties = paragraph.find(f"{WORD}pPr")
        style = self._named(_value(properties, "pStyle") or self._default)
        level = _outline_level(properties)
        numbered = _is_item(properties)
        return ParagraphStyle(
            style.level if level is None else level if level <= _BODY_LEVEL else None,
            style.is_title,
            style.is_item if numbered is None else numbered,
            style.is_hidden,
        )

    def hides(self, style_id: str | None) -> bool:
        """Whether text in this style is not shown."""
        return self._named(style_id).is_hidden

    def _named(self, style_id: str | None) -> ParagraphStyle:
        if style_id not in self._known:
            self._known[style_id] = self._resolve(style_id)
        return self._known[style_id]

    def _resolve(self, style_id: str | None) -> ParagraphStyle:
        chain = self._chain(style_id)
        if not chain:
            return ParagraphStyle()
        names = [(_value(style, "name") or "").strip() for style in chain]
        levels = [level for style in chain if (level := _outline_level(style.find(f"{WORD}pPr"))) is not None]
        named = [int(found.group(1)) for name in names if (found := _HEADING.fullmatch(name))]
        is_title = names[0].casefold() == _TITLE
        level = next(iter(named or levels), 1 if is_title else None)
        items = [item for style in chain if (item := _is_item(style.find(f"{WORD}pPr"))) is not None]
        hidden = [hides for style in chain if (hides := vanishes(style.find(f"{WORD}rPr"))) is not None]
        is_text = level is None or level > _BODY_LEVEL
        return ParagraphStyle(None if is_text else level, is_title, any(items[:1]), any(hidden[:1]))

    def _chain(self, style_id: str | None) -> list[Element]:
        """A style and those that it is based on."""
        chain: list[Element] = []
        while style_id in self._styles and len(chain) < _MOST_BASES:
            chain.append(self._styles[style_id])
            style_id = _value(chain[-1], "basedOn")
        return chain


def is_default_paragraph(style: Element) -> bool:
    """Whether paragraphs without a style have this one."""
    return style.get(f"{WORD}type") == "paragraph" and is_on(style.get(f"{WORD}default", "0"))


def vanishes(properties: Element | None) -> bool | None:
    """Whether the properties of a run hide it; None if they leave that open."""
    if properties is None:
        return None
    marks = [mark for name in ("vanish", "webHidden") if (mark := properties.find(f"{WORD}{name}")) is not None]
    return any(is_on(mark.get(VALUE)) for mark in marks) if marks else None


def _value(element: Element | None, name: str) -> str | None:
    found = element.find(f"{WORD}{name}") if element is not None else None
    return found.get(VALUE) if found is not None else None


def _outline_level(properties: Element | None) -> int | None:
    value = _value(properties, "outlineLvl")
    return int(value) + 1 if value is not None else None


def _is_item(properties: Element | None) -> bool | None:
    numbering = properties.find(f"{WORD}numPr") if properties is not None else None
    return None if numbering is None else _value(numbering, "numId") != "0"
