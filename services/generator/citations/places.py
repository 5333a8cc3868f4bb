"""The places of a quote in a text at which it says there what it says alone.

A place is none if it cuts a word or a number short ("5 million" in "15 million", "12" in "12%", "legal" in "illegal"),
or if a negation directly before it is left out ("not approved by the board"). All texts are canonical ones.
"""

import re
from collections.abc import Iterator

from generator.citations.alike import UNSPACED

# A quote with more places than this is looked for no further: what it proves is little, and time is bounded.
MOST_PLACES = 200

_SIGHT = 24
_LETTER = rf"(?:(?![{UNSPACED}])[^\W\d_])"
_HAN_NUMERAL = "零〇一二三四五六七八九十百千万亿萬億兆两兩"
_NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)"
)
_MAGNITUDE = r"(?:hundred|thousand|million|billion|trillion|percent|per cent|mn|bn|tn|[kmb])"
_PRIVATE = "\U000f0000-\U000fffff"

_BEFORE_NUMBER = re.compile(rf"(?:[0-9{_PRIVATE}][.,:/'-]?|{_LETTER}|(?<![0-9a-z])[-±≤≥≈~<]|[{_HAN_NUMERAL}]点?)\Z")
_BEFORE_WORD = re.compile(rf"(?:{_LETTER}|[0-9])\Z")
_BEFORE_HAN_NUMERAL = re.compile(rf"(?:[0-9]|[{_HAN_NUMERAL}]点?)\Z")
_BEFORE_NUMBER_WORD = re.compile(rf"(?<![^\W_]){_NUMBER_WORD} \Z")
_NEGATION_BEFORE = re.compile(
    r"(?:(?<![^\W_])(?:not|no|never|nor|neither|without|cannot|hardly|non)|n't)"
    r"(?: (?:yet|be|been|being|have|ever|longer))* ?\Z"
    r"|(?:[不未无無勿]|(?<![淹沉埋湮])[没沒]|(?<![南北东東西是除])非)[是会會能得可应應曾有]?\Z"
)

_AFTER_NUMBER = re.compile(
    rf"[.,:/'-]?[0-9]|[{_PRIVATE}%‰{_HAN_NUMERAL}]|{_LETTER}| ?{_MAGNITUDE}(?![^\W_])|点[0-9{_HAN_NUMERAL}]"
)
_AFTER_WORD = re.compile(rf"{_LETTER}|[0-9]|'t(?![^\W_])")
_AFTER_HAN_NUMERAL = re.compile(rf"[0-9{_HAN_NUMERAL}]|点[{_HAN_NUMERAL}]")
_AFTER_NUMBER_WORD = re.compile(rf" (?:{_NUMBER_WORD}|{_MAGNITUDE})(?![^\W_])")

_IS_NUMBER = re.compile(r"[0-9$€£¥]")
_IS_LETTER = re.compile(_LETTER)
_IS_HAN_NUMERAL = re.compile(f"[{_HAN_NUMERAL}]")
_BEGINS_NUMBER_WORD = re.compile(rf"{_NUMBER_WORD}(?![^\W_])")
_ENDS_NUMBER_WORD = re.compile(rf"(?<![^\W_]){_NUMBER_WORD}\Z")


def find_place(quote: str, text: str) -> int | None:
    """The first place of a quote in a text; None if there is none."""
    return next(find_places(quote, text), None)


def find_places(quote: str, text: str) -> Iterator[int]:
    """The places of a quote in a text, in order; `quote` is not empty, and has no blank at its ends."""
    start = text.find(quote)
    for _ in range(MOST_PLACES):
        if start < 0:
            return
        if not _is_cut(quote, text, start):
            yield start
        start = text.find(quote, start + 1)


def _is_cut(quote: str, text: str, start: int) -> bool:
    end = start + len(quote)
    before, after = text[max(0, start - _SIGHT) : start], text[end : end + _SIGHT]
    return bool(_is_cut_before(before, quote) or _is_cut_after(quote, after))


def _is_cut_before(before: str, quote: str) -> bool:
    first = quote[0]
    if _NEGATION_BEFORE.search(before):
        return True
    if _IS_NUMBER.match(first):
        return bool(_BEFORE_NUMBER.search(before))
    if _IS_HAN_NUMERAL.match(first):
        return bool(_BEFORE_HAN_NUMERAL.search(before))
    if not _IS_LETTER.match(first):
        return False
    is_number = _BEGINS_NUMBER_WORD.match(quote)
    return bool(_BEFORE_WORD.search(before) or (is_number and _BEFORE_NUMBER_WORD.search(before)))


def _is_cut_after(quote: str, after: str) -> bool:
    last = quote[-1]
    if last.isdecimal():
        return bool(_AFTER_NUMBER.match(after))
    if _IS_HAN_NUMERAL.match(last):
        return bool(_AFTER_HAN_NUMERAL.match(after))
    if not _IS_LETTER.match(last):
        return False
    is_number = _ENDS_NUMBER_WORD.search(quote[-_SIGHT:])
    return bool(_AFTER_WORD.match(after) or (is_number and _AFTER_NUMBER_WORD.match(after)))
