"""Text on a PDF's page that nobody sees: without ink, white on nothing, or too small."""

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pypdfium2 as pdfium  # type: ignore[import-untyped] # has no annotations
import pypdfium2.raw as pdfium_c  # type: ignore[import-untyped] # has no annotations

# Points; the smallest print that is read is about four.
_TINY: Final = 1.0
# Of 255; darker text can be read with some effort.
_WHITE: Final = 250
# The share of a page that an image covers if the page is a scan, with its text unseen on top.
_SCAN: Final = 0.5
# Objects may lie in one another that deep; PDFium's own limit is higher.
_MAX_DEPTH: Final = 12
# More than these are not compared one by one with the text.
_MOST_GROUNDS: Final = 1_000

Box = tuple[float, float, float, float]


@dataclass
class PageObjects:
    """What is painted on a page, sorted by what it means for the text on it."""

    images: int = 0
    largest_image: float = 0.0
    visible: int = 0
    unseen: list[Any] = field(default_factory=list)
    inkless: list[Any] = field(default_factory=list)
    grounds: list[Box] = field(default_factory=list)
    # Something lies where it is not looked for, in a group of objects: it may be behind anything.
    has_far_ground: bool = False


def look_at(page: pdfium.PdfPage) -> PageObjects:
    """All objects of a page, from back to front."""
    found = PageObjects()
    for item, scale, is_far in _objects(page):
        kind = pdfium_c.FPDFPageObj_GetType(item)
        if kind == pdfium_c.FPDF_PAGEOBJ_TEXT:
            _sort_text(found, item, scale, is_far=is_far)
        elif kind == pdfium_c.FPDF_PAGEOBJ_IMAGE:
            found.images += 1
            _add_ground(found, item, is_far=is_far)
            left, bottom, right, top = _box(item)
            found.largest_image = max(found.largest_image, (right - left) * (top - bottom))
        elif kind == pdfium_c.FPDF_PAGEOBJ_SHADING or _is_ink(item, kind):
            _add_ground(found, item, is_far=is_far)
    return found


def hide_unseen(page: pdfium.PdfPage, found: PageObjects) -> int:
    """Keep unseen text out of what is extracted from the page afterwards; gives the number of such places.

    Text without ink stays where it is all the page has, and on scans: it is what a program read in the image.
    """
    unseen = list(found.unseen)
    width, height = page.get_size()
    is_scan = found.largest_image >= _SCAN * width * height
    if found.visible and not is_scan:
        unseen += found.inkless
    for item in unseen:
        pdfium_c.FPDFPageObj_SetIsActive(item, 0)
    return len(unseen)


def _objects(page: pdfium.PdfPage) -> Iterator[tuple[Any, float, bool]]:
    """Each object with the factor by which those around it enlarge it, and whether there are any around it."""
    stack = [(_page_items(page), 1.0)]
    while stack:
        items, scale = stack[-1]
        item = next(items, None)
        if item is None:
            stack.pop()
        elif pdfium_c.FPDFPageObj_GetType(item) == pdfium_c.FPDF_PAGEOBJ_FORM:
            if len(stack) < _MAX_DEPTH:
                stack.append((_form_items(item), scale * _scale(item)))
        else:
            yield item, scale, len(stack) > 1


def _page_items(page: pdfium.PdfPage) -> Iterator[Any]:
    return (pdfium_c.FPDFPage_GetObject(page, index) for index in range(pdfium_c.FPDFPage_CountObjects(page)))


def _form_items(form: Any) -> Iterator[Any]:
    return (pdfium_c.FPDFFormObj_GetObject(form, index) for index in range(pdfium_c.FPDFFormObj_CountObjects(form)))


def _sort_text(found: PageObjects, item: Any, scale: float, *, is_far: bool) -> None:
    if pdfium_c.FPDFTextObj_GetTextRenderMode(item) == pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE:
        found.inkless.append(item)
        return
    size = ctypes.c_float()
    pdfium_c.FPDFTextObj_GetFontSize(item, size)
    is_tiny = abs(size.value) * scale * _scale(item) < _TINY
    if is_tiny or (_is_white(item) and not _has_ground(found, item, is_far=is_far)):
        found.unseen.append(item)
    else:
        found.visible += 1


def _is_white(item: Any) -> bool:
    """Whether text is filled with white, or with nothing at all; outlined text is seen."""
    if pdfium_c.FPDFTextObj_GetTextRenderMode(item) != pdfium_c.FPDF_TEXTRENDERMODE_FILL:
        return False
    colour = _colour(item)
    return colour is not None and (colour[3] == 0 or min(colour[:3]) >= _WHITE)


def _colour(item: Any) -> tuple[int, ...] | None:
    """Red, green, blue and opacity of what fills an object; None for patterns."""
    parts = [ctypes.c_uint() for _ in range(4)]
    return tuple(part.value for part in parts) if pdfium_c.FPDFPageObj_GetFillColor(item, *parts) else None


def _is_ink(item: Any, kind: int) -> bool:
    """Whether a path is filled with anything but white."""
    if kind != pdfium_c.FPDF_PAGEOBJ_PATH:
        return False
    mode, stroke = ctypes.c_int(), ctypes.c_int()
    if not pdfium_c.FPDFPath_GetDrawMode(item, mode, stroke) or mode.value == pdfium_c.FPDF_FILLMODE_NONE:
        return False
    colour = _colour(item)
    return colour is None or (colour[3] > 0 and min(colour[:3]) < _WHITE)


def _add_ground(found: PageObjects, item: Any, *, is_far: bool) -> None:
    if is_far or len(found.grounds) >= _MOST_GROUNDS:
        found.has_far_ground = True
    else:
        found.grounds.append(_box(item))


def _has_ground(found: PageObjects, item: Any, *, is_far: bool) -> bool:
    """Whether something that was painted before may lie behind text."""
    if found.has_far_ground or (is_far and found.grounds):
        return True
    left, bottom, right, top = _box(item)
    return any(
        ground[0] < right and left < ground[2] and ground[1] < top and bottom < ground[3] for ground in found.grounds
    )


def _box(item: Any) -> Box:
    """Left, bottom, right and top."""
    edges = [ctypes.c_float() for _ in range(4)]
    pdfium_c.FPDFPageObj_GetBounds(item, *edges)
    left, bottom, right, top = (edge.value for edge in edges)
    return left, bottom, right, top


def _scale(item: Any) -> float:
    """How many times its own height an object is high."""
    matrix = pdfium_c.FS_MATRIX()
    if not pdfium_c.FPDFPageObj_GetMatrix(item, matrix):
        return 1.0
    return math.hypot(matrix.c, matrix.d)
