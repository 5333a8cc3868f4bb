"""Sentences as spans of the original text, for Chinese, English, lists and chat logs."""

import math
import re
from collections.abc import Iterator

import regex

from citewire.text.abbreviations import MAYBE_LAST, NEVER_LAST, NUMBERED, STARTERS

Span = tuple[int, int]

_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]++")
# [nickname] as chat logs have it, but not the text of a Markdown link.
_MARK = r"\[[^\[\]\n]{1,40}\](?![(\[])[:：]?"
_ITEM = r"#{1,6}\s|>+|[-*+•·▪●–—]\s|\(?\d{1,3}[.)]\s|\d{1,3}、|\[[ xX]\]\s"
_LEAD = regex.compile(rf"(?:\s*+(?:{_ITEM}|(?P<mark>{_MARK})))*+[\s\u200b\ufeff]*+")
_LATER_MARK = regex.compile(rf"(?<=[\s。！？；….!?])(?!\[\d+\]){_MARK}")

_CLOSERS = r"\"'”’」』）)】》〉\]"
# What ends a sentence, with what closes it and footnote numbers set right behind, and the blanks before the next.
_END = re.compile(rf"(([。！？；…｡.!?]++)([{_CLOSERS}]*+)(?:\[\d{{1,3}}\])*)\s*+")
_CHINESE_ENDS = frozenset("。！？；｡")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}“‘「『《（【]")
_NEXT_WORD = re.compile(r"[\s\"'“‘(\[]*+(\w*)")
_LONGEST_ABBREVIATION = 12
_ABBREVIATION = regex.compile(r"(?<![\w.])[\w.]+\Z")
_WORDS = regex.compile(r"\w")

# Where a long sentence may be cut, best first: behind a clause, between words, between Chinese characters.
_BLANK = regex.compile(r"\s+")
_CUTS = (
    regex.compile(rf"[，；：、][{_CLOSERS}]*+|[,;:][{_CLOSERS}]*+(?=\s)"),
    _BLANK,
    regex.compile(r"(?<=[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}])(?=[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}])"),
)


def split_sentences(text: str) -> list[Span]:
    """Sentences as (start, end) in code points of this text: in order, apart, without white space around.

    A line break always ends a sentence. Bullets, heading signs and the `[nickname]` marks of a chat log lie
    between the sentences, closing quotes and brackets within. Spans without a letter or digit are left out.
    """
    return [
        (start, end)
        for segment_start, segment_end in _segments(text)
        for start, end in _sentences(text, segment_start, segment_end)
        if text[start : start + 1].isalnum() or _WORDS.search(text, start, end)
    ]


def candidate_sentences(text: str, minimum: int = 4, maximum: int = 160) -> list[Span]:
    """Sentences fit to be quoted, as (start, end), each `minimum` to `maximum` code points long.

    A longer one is cut into pieces of about equal length, behind a clause where it can, else between words or
    Chinese characters. Left out: shorter ones, and words that alone exceed the maximum.
    """
    pieces = (piece for start, end in split_sentences(text) for piece in _pieces(text, start, end, maximum))
    return [(start, end) for start, end in pieces if minimum <= end - start <= maximum]


def _segments(text: str) -> Iterator[Span]:
    """Lines without what leads them; a line that begins with a chat mark also cut at its later ones."""
    for line in _LINE.finditer(text):
        lead = _LEAD.match(text, line.start(), line.end())
        start = lead.end() if lead else line.start()
        if lead and lead["mark"]:
            for mark in _LATER_MARK.finditer(text, start, line.end()):
                yield start, mark.start()
                start = mark.end()
        yield start, line.end()


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    for stop in _END.finditer(text, start, end):
        if _is_end(text, stop, end):
            yield _trim(text, start, stop.end(1))
            start = stop.end()
    yield _trim(text, start, end)


def _is_end(text: str, stop: re.Match[str], line_end: int) -> bool:
    """Whether this punctuation ends a sentence; a full stop may belong to a number, a name, an abbreviation."""
    (_, signs, closers), behind = stop.groups(), stop.end(1)
    if behind >= line_end or not _CHINESE_ENDS.isdisjoint(signs):
        return True
    after = text[behind]
    if after != " " and _UNSPACED.match(after):
        return signs != "." or not text[stop.start() - 1 : stop.start()].isdigit()
    if not after.isspace():
        return False
    word = _next_word(text, behind, line_end)
    if word[:1].islower() and (closers or signs.startswith(("…", ".."))):
        return False
    return signs != "." or not _is_abbreviation(text, stop.start(), word)


def _next_word(text: str, start: int, end: int) -> str:
    found = _NEXT_WORD.match(text, start, min(end, start + 40))
    return found.group(1) if found else ""


def _is_abbreviation(text: str, dot: int, next_word: str) -> bool:
    """Whether the full stop at `dot` shortens a word and the sentence goes on with the next word."""
    word = _last_word(text[max(0, dot - _LONGEST_ABBREVIATION) : dot]).lower()
    if word in NEVER_LAST:
        return True
    if word in NUMBERED:
        return next_word[:1].isdigit()
    return next_word not in STARTERS and (word in MAYBE_LAST or _are_initials(word))


def _last_word(text: str) -> str:
    word = text.rpartition(" ")[2]
    if word.isascii() and word.isalpha():  # as most are: much faster to see than what else there may be
        return word
    found = _ABBREVIATION.search(text)
    return found.group() if found else ""


def _are_initials(word: str) -> bool:
    return word[1:2] in {"", "."} and all(len(part) == 1 and part.isalpha() for part in word.split("."))


def _pieces(text: str, start: int, end: int, maximum: int) -> Iterator[Span]:
    while end - start > maximum:
        cut = _cut(text, start, end, maximum)
        yield _trim(text, start, cut)
        start, _ = _trim(text, cut, end)
    yield start, end


def _cut(text: str, start: int, end: int, maximum: int) -> int:
    """The best place to cut, nearest to equal shares; past the maximum if one word fills it."""
    share = math.ceil((end - start) / math.ceil((end - start) / maximum))
    for border in _CUTS:
        places = [found.end() for found in border.finditer(text, start + maximum // 4, start + maximum)]
        if places:
            return min(places, key=lambda place: abs(place - start - share))
    blank = _BLANK.search(text, start + maximum // 4, end)
    return blank.end() if blank else end


def _trim(text: str, start: int, end: int) -> Span:
    if start < end and not text[start].isspace() and not text[end - 1].isspace():
        return start, end
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())
