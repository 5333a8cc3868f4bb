"""Dates in their common Chinese, Korean, ISO and English forms, as one term each."""

import re
from collections.abc import Iterator

# The look behind stands second, for a pattern that begins with a set of characters is found faster.
_YEAR = re.compile(r"[12](?<!\d[12])\d{3}")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_MONTH, _DAY = r"(0?[1-9]|1[0-2])", r"(0?[1-9]|[12]\d|3[01])"
# 2025-02-14, 2025/2/14, 2025.2.14, 2025-02; 2025年2月14日, 2025년 2월; 20250214. Each is looked for behind its year.
_SEPARATED = re.compile(rf"([-/.]){_MONTH}(?:\1{_DAY})?(?!\1?\d)")
_NAMED = re.compile(rf"\s?[年년]\s?{_MONTH}\s?[月월](?:\s?{_DAY}\s?[日号號일])?")
_COMPACT = re.compile(r"(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)")

# 14 February 2025, 14th of Feb. 2025, Feb 14, 2025, February 2025. Looked for in front of its year.
_ENGLISH = re.compile(
    rf"(?:(?<!\d){_DAY}(?:st|nd|rd|th)?[\s-]+(?:of\s+)?|(?<![a-z]))"
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
    rf"\.?(?:\s+{_DAY}(?:st|nd|rd|th)?)?(?:,?\s+|-)\Z",
    re.IGNORECASE,
)
_LONGEST_ENGLISH = 30


def date_terms(text: str) -> list[str]:
    """One term for each date with a year: `d20250214`, or `d202502` where no day is given. Expects NFKC."""
    return [term for year in _YEAR.finditer(text) for term in _dates_at(text, year)]


def _dates_at(text: str, year: re.Match[str]) -> Iterator[str]:
    """The date that this year is part of, if any. A dotted year and month (2025.02) may be a plain number."""
    if found := _SEPARATED.match(text, year.end()):
        separator, month, day = found.groups()
        if day or separator != ".":
            yield _term(year.group(), month, day)
    elif found := _NAMED.match(text, year.end()) or _COMPACT.match(text, year.end()):
        yield _term(year.group(), *found.groups())
    elif found := _ENGLISH.search(text[max(0, year.start() - _LONGEST_ENGLISH) : year.start()]):
        day_before, name, day_after = found.groups()
        month = str(_MONTHS.index(name[:3].lower()) + 1)
        yield _term(year.group(), month, day_before or day_after)


def _term(year: str, month: str, day: str | None) -> str:
    return f"d{year}{month:0>2}{day:0>2}" if day else f"d{year}{month:0>2}"
