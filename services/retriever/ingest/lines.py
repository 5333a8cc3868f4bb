"""From the lines of a printed page to paragraphs: what was broken for the paper only is joined again."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

HYPHEN: Final = "\u00ad"

# Scripts without blanks between words, so not Hangul.
_CJK: Final = r"\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
_WIDE: Final = re.compile(
    r"[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]"
)
_CJK_END: Final = re.compile(rf"[{_CJK}]\Z")
_CJK_START: Final = re.compile(rf"[{_CJK}]")
_FIRST_WORD: Final = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")

_SENTENCE_END: Final = re.compile(r"[.!?:;…。！？：；][”’\"'」』)）】》]*$")
_MARK: Final = re.compile(r"(?:[-*+•·▪●◦–—]|\(?\d{1,3}[.)、])$")
_ITEM: Final = re.compile(
    r"(?:[-*+•·▪●◦]|\(?\d{1,3}[.)]|\([a-z]\)|[a-z]\))\s|\d{1,3}、|[（(][一二三四五六七八九十\d]{1,3}[)）]"
    r"|第[一二三四五六七八九十百千\d]+[章节節条條款]"
)
# A line is broken for the paper if the next one's first word would not have fitted in it. Letters differ in
# width, so a line counts as full a little earlier, and earlier still before a small letter, which begins nothing.
_FULL: Final = 0.9
_FULL_BEFORE_SMALL: Final = 0.6
# The width up to which this share of the text is set: long tables and titles must not decide it.
_MEASURE_SHARE: Final = 0.75
# Columns are hardly ever narrower (in Latin letters); a page of short lines is a list or a cover.
_LEAST_MEASURE: Final = 40

_PAGE_NUMBER: Final = re.compile(
    r"(?:page\s+|p\.\s*|第\s*|[-–—|]\s*)?(\d{1,5}|[ivxlcdm]{1,8}|[A-Z]-?\d{1,4})(?:\s*[页頁]|\s*[-–—|]|\s*(?:/|of)\s*\d{1,5})?",
    re.IGNORECASE,
)


def join_lines(text: str) -> str:
    """Lines of a paragraph as one line; headings, list items and blank lines stay.

    `HYPHEN` at a line's end stands for a hyphen that the paragraph surely goes on behind.
    """
    lines = [line.strip() for line in text.split("\n")]
    measure = _measure(lines)
    parts = lines[:1]
    for line, following in pairwise(lines):
        if not _goes_on(line, following, measure):
            parts.append("\n")
        elif line.endswith(("-", HYPHEN)) and line[-2:-1].isalnum():
            parts[-1] = line[:-1]
            parts.append("" if line[-2].islower() and following[0].islower() else "-")
        else:
            parts.append("" if _CJK_END.search(line) or _CJK_START.match(following) else " ")
        parts.append(following)
    return "".join(parts).replace(HYPHEN, "-").strip("\n")


def drop_page_numbers(pages: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Pages without the number at their head or foot, which would stand in the middle of a sentence.

    A line is one if it shows the page's label, or a number that the page before or behind goes on counting.
    """
    kept = [page.strip().split("\n") for page in pages]
    for side in (0, -1):
        shown = [_shown_number(lines[side]) for lines in kept]
        for number, lines in enumerate(kept):
            if shown[number] and _is_page_number(shown, number, labels[number]):
                del lines[side]
                lines.extend([] if lines else [""])
    return ["\n".join(lines) for lines in kept]


def _measure(lines: Sequence[str]) -> float:
    widths = sorted(_width(line) for line in lines)
    rest = _MEASURE_SHARE * sum(widths)
    for width in widths:
        rest -= width
        if rest <= 0:
            return max(width, _LEAST_MEASURE)
    return _LEAST_MEASURE


def _width(line: str) -> int:
    return len(line) + len(_WIDE.findall(line))


def _goes_on(line: str, following: str, measure: float) -> bool:
    if not line or not following or line.endswith(HYPHEN):
        return bool(line and following)
    if _MARK.fullmatch(line):
        return not _ITEM.match(following)
    if _SENTENCE_END.search(line) or _ITEM.match(following) or _MARK.fullmatch(following):
        return False
    word = _FIRST_WORD.match(following)
    if line[-1].isdecimal() and (following[0].isupper() or following[0].isdecimal()):
        return False  # rows of a table end in numbers, and so do entries of a list of contents
    needed = _width(line) + 1 + _width(word.group() if word else following)
    return needed >= measure * (_FULL_BEFORE_SMALL if following[0].islower() else _FULL)


def _shown_number(line: str) -> str:
    found = _PAGE_NUMBER.fullmatch(line.strip())
    return found.group(1) if found else ""


def _is_page_number(shown: Sequence[str], number: int, label: str) -> bool:
    value = shown[number]
    if value.casefold() == label.strip().casefold():
        return True
    if not value.isdecimal():
        return False
    neighbours = {shown[at]: int(value) + at - number for at in (number - 1, number + 1) if 0 <= at < len(shown)}
    return any(text.isdecimal() and int(text) == expected for text, expected in neighbours.items())
