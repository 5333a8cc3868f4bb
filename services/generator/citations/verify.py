"""Does a quote stand in the source it names? Decided by comparing characters, without a model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from citewire.contracts.evidence import Verdict
from citewire.text.normalise import fold, unfold

# Shorter pieces stand in every text and would prove nothing.
MIN_SENTENCE = 4
MIN_PART = 8

_LINE_HYPHEN = re.compile(r"(?<=[^\W\d_])- (?=[^\W\d_])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\s*(?:…+|\.{3,})\s*")
_PIECE_EDGES = " \t\r\n,，、;；:：.。"
_WORD_START = re.compile(r"(?<=\s)\S|(?<=[,，、;；:：)）])\S")
_NUMBER_RUNS_ON_BEFORE = re.compile(r"[0-9][.,]?\Z")
_NUMBER_RUNS_ON_AFTER = re.compile(r"[.,]?[0-9]")


@dataclass(frozen=True, slots=True)
class Found:
    """Where a quote stands in a text: `text[start:end]`, and whether it is the same characters."""

    start: int
    end: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class QuoteCheck:
    """A verdict, and the source and range where the quote stands; three Nones when it stands nowhere in one piece."""

    verdict: Verdict
    number_found: int | None = None
    start: int | None = None
    end: int | None = None


def locate(quote: str, text: str) -> Found | None:
    """Where a quote stands in a text: as it is, or else up to case, white space, typography and line hyphens.

    A place that would cut a number short ("5 million" in "15 million") is none.
    """
    return _Searchable(text).find(_Searchable(quote))


def check_quote(quote: str, number: int, sources: Mapping[int, str]) -> QuoteCheck:
    """The verdict on a quote that names source `number`; `sources` maps numbers to texts.

    Of several other sources that hold the quote, the lowest number is named.
    """
    wanted = _Searchable(quote)
    texts = {other: _Searchable(sources[other]) for other in sorted(sources)}
    cited = texts[number].find(wanted) if number in texts else None
    if cited:
        verdict = Verdict.EXACT if cited.is_exact else Verdict.NORMALISED
        return QuoteCheck(verdict, number, cited.start, cited.end)
    for other, text in texts.items():
        found = text.find(wanted)
        if found:
            return QuoteCheck(Verdict.MISATTRIBUTED, other, found.start, found.end)
    return QuoteCheck(Verdict.STITCHED if _is_stitched(quote, list(texts.values())) else Verdict.NOT_FOUND)


class _Searchable:
    """A text with its folded form, made when first needed and then kept."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def folded(self) -> tuple[str, list[int]]:
        folded, origins = fold(self.text)
        hyphens = {index for match in _LINE_HYPHEN.finditer(folded) for index in range(*match.span())}
        kept = [origin for index, origin in enumerate(origins) if index not in hyphens]
        return _LINE_HYPHEN.sub("", folded), kept

    def find(self, quote: "_Searchable") -> Found | None:
        exact = _find_whole(quote.text, self.text) if quote.text.strip() else None
        if exact is not None:
            return Found(exact, exact + len(quote.text), is_exact=True)
        wanted = quote.folded[0].strip()
        text, origins = self.folded
        start = _find_whole(wanted, text) if wanted else None
        return None if start is None else Found(*unfold(origins, start, start + len(wanted)), is_exact=False)


def _find_whole(quote: str, text: str) -> int | None:
    """The first place of a quote at which it does not cut a number of the text short."""
    start = text.find(quote)
    while start >= 0 and _cuts_number(quote, text, start):
        start = text.find(quote, start + 1)
    return start if start >= 0 else None


def _cuts_number(quote: str, text: str, start: int) -> bool:
    end = start + len(quote)
    before = quote[0].isdecimal() and _NUMBER_RUNS_ON_BEFORE.search(text[max(0, start - 2) : start])
    after = quote[-1].isdecimal() and _NUMBER_RUNS_ON_AFTER.match(text, end)
    return bool(before or after)


def _is_stitched(quote: str, texts: list[_Searchable]) -> bool:
    """Whether the quote is put together of sentences, or of two parts, that stand in the sources one by one."""
    sentences = [sentence for sentence in _SENTENCE_END.split(quote) if sentence.strip()]
    if len(sentences) > 1:
        return all(_stands(sentence, MIN_SENTENCE, texts) for sentence in sentences)
    cut = _longest_start(quote, texts)
    return _stands(quote[:cut], MIN_PART, texts) and _stands(quote[cut:], MIN_PART, texts)


def _stands(piece: str, at_least: int, texts: list[_Searchable]) -> bool:
    wanted = _Searchable(piece.strip(_PIECE_EDGES))
    return len(wanted.text) >= at_least and any(text.find(wanted) for text in texts)


def _longest_start(quote: str, texts: list[_Searchable]) -> int:
    """The last word boundary up to which the quote stands in one source, by bisection."""
    cuts = [0, *(word.start() for word in _WORD_START.finditer(quote))]
    low, high = 0, len(cuts) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _stands(quote[: cuts[middle]], 1, texts):
            low = middle
        else:
            high = middle - 1
    return cuts[low]
