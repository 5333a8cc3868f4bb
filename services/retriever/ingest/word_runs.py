"""The text of one paragraph of a Word document, as a reader sees it once all changes are accepted."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from docx.opc.part import Part
from docx.oxml.parser import parse_xml

from retriever.ingest.notes import Losses
from retriever.ingest.office import Element, alternative
from retriever.ingest.word_styles import VALUE, WORD, ParagraphStyle, Styles, vanishes

_MATH_TEXT: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_ALTERNATIVES: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_IMAGE: Final = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"
_VML_IMAGE: Final = "{urn:schemas-microsoft-com:vml}imagedata"
_DRAWING_NAME: Final = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_BACKGROUND: Final = f"{WORD}background"
_BOX: Final = f"{WORD}txbxContent"
_RUN: Final = f"{WORD}r"
_TEXT: Final = frozenset({f"{WORD}t", _MATH_TEXT})
_SIGNS: Final = {f"{WORD}tab": "\t", f"{WORD}br": "\n", f"{WORD}cr": "\n", f"{WORD}noBreakHyphen": "-"}
# Deleted and moved away text, the reading aid above a word, and what only describes the paragraph.
_SKIPPED: Final = frozenset(f"{WORD}{name}" for name in ("del", "moveFrom", "rt", "pPr", "rPr", "sdtPr", "instrText"))
_DRAWINGS: Final = frozenset({f"{WORD}drawing", f"{WORD}pict", f"{WORD}object"})
_NOTES: Final = {f"{WORD}footnoteReference": "footnotes", f"{WORD}endnoteReference": "endnotes"}
# Half-points: text of one point and less is not read by anybody.
_TINY: Final = 2
_WHITE: Final = frozenset({"FFFFFF", "FEFEFE"})
_PROPERTIES: Final = f"{WORD}pPr"
_SHADE: Final = f"{WORD}shd"
_GROUNDS: Final = frozenset(f"{WORD}{name}" for name in ("tc", "txbxContent"))


@dataclass
class Paragraph:
    """A paragraph's text, and what hangs on it: text boxes, and notes at the foot of the page."""

    parts: list[str] = field(default_factory=list)
    attached: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text without white space around it."""
        return "".join(self.parts).strip()


class ParagraphReader:
    """Reads the paragraphs of one document."""

    def __init__(self, part: Part, styles: Styles, losses: Losses) -> None:
        self._styles = styles
        self._losses = losses
        self._notes = {kind: dict(_notes(part, kind)) for kind in _NOTES.values()}

    def read(self, paragraph: Element, style: ParagraphStyle) -> Paragraph:
        """What a paragraph holds."""
        found = Paragraph()
        self._walk(paragraph, style, found)
        return found

    def _walk(self, parent: Element, style: ParagraphStyle, found: Paragraph) -> None:
        was_hidden = False
        for child in parent:
            is_hidden = child.tag == _RUN and self._is_hidden(child, style)
            if not is_hidden:
                self._take(child, style, found)
            elif not was_hidden and any(text.text for text in child.iter(*_TEXT)):
                self._losses.hidden += 1
            was_hidden = is_hidden

    def _take(self, child: Element, style: ParagraphStyle, found: Paragraph) -> None:
        tag = child.tag
        if tag in _TEXT:
            found.parts.append(child.text or "")
        elif tag in _SIGNS:
            found.parts.append(_SIGNS[tag])
        elif tag in _DRAWINGS:
            self._take_drawing(child, found)
        elif tag in _NOTES:
            # Once only: notes that refer to each other must not go on for ever.
            note = self._notes[_NOTES[tag]].pop(child.get(f"{WORD}id"), None)
            found.attached += [] if note is None else [note]
        elif tag == _ALTERNATIVES:
            # The second one is the same for older programs.
            for newer in child[:1]:
                self._walk(newer, style, found)
        elif isinstance(tag, str) and tag not in _SKIPPED:
            self._walk(child, style, found)

    def _take_drawing(self, drawing: Element, found: Paragraph) -> None:
        found.attached += _outermost(drawing, _BOX)
        images = len(_outermost(drawing, _IMAGE, _VML_IMAGE))
        names = [alternative(name.get("descr")) for name in _outermost(drawing, _DRAWING_NAME)]
        described = [name for name in names if name]
        found.parts += [f" {name} " for name in described]
        if images and not described:
            self._losses.images += images

    def _is_hidden(self, run: Element, style: ParagraphStyle) -> bool:
        properties = run.find(f"{WORD}rPr")
        if properties is None:
            return style.is_hidden
        vanished = vanishes(properties)
        if vanished is None:
            named = properties.find(f"{WORD}rStyle")
            vanished = style.is_hidden or (named is not None and self._styles.hides(named.get(VALUE)))
        return vanished or _is_tiny(properties) or (_is_white(properties) and not _has_ground(run))


def _is_tiny(properties: Element) -> bool:
    size = properties.find(f"{WORD}sz")
    return size is not None and float(size.get(VALUE)) <= _TINY


def _is_white(properties: Element) -> bool:
    color = properties.find(f"{WORD}color")
    return color is not None and str(color.get(VALUE)).upper() in _WHITE


def _has_ground(run: Element) -> bool:
    """Whether something else than the white page may lie behind a run: cells and boxes mostly have a colour then."""
    if run.find(f"{WORD}rPr/{WORD}shd") is not None or run.find(f"{WORD}rPr/{WORD}highlight") is not None:
        return True
    return any(_is_ground(up) for up in run.iterancestors())


def _is_ground(up: Element) -> bool:
    # What describes an element is its first child; looking at all of them for each run would take quadratic time.
    first = up[0]
    if first.tag == _PROPERTIES:
        return first.find(_SHADE) is not None
    return up.tag in _GROUNDS or first.tag == _BACKGROUND


def _outermost(drawing: Element, *tags: str) -> list[Element]:
    """The elements of a drawing without those in its text boxes, and those that are there again for older programs."""
    found = []
    for element in drawing.iter(*tags):
        above = takewhile(lambda up: up is not drawing, element.iterancestors())
        if not any(up.tag in {_BOX, _FALLBACK} for up in above):
            found.append(element)
    return found


def _notes(part: Part, kind: str) -> Iterator[tuple[str | None, Element]]:
    """The notes of one kind by their ids."""
    for relation in part.rels.values():
        if relation.reltype.endswith(f"/{kind}") and not relation.is_external:
            for note in parse_xml(relation.target_part.blob):
                yield note.get(f"{WORD}id"), note
