"""A text in the form in which quotes are compared with it, and the way back to its own characters.

Alike are: white space of any kind and length (none, beside characters of scripts without blanks); upper and lower case;
width and other compatibility forms; quotation marks; dashes; brackets, so that a marker made harmless is still the
marker; a hyphen within a word, with or without a line break, and none; and what Markdown adds to words: emphasis,
escapes, bullets, heading signs, borders of cells. All that could make another number of a number stays as it is.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property

import regex

from citewire.text.normalise import fold
from generator.citations.alike import UNSPACED, find_uneven, make_alike

# Punctuation of scripts without blanks brings its own; not that which is but another form of a sign of all scripts.
_BESIDE = rf"{UNSPACED}\u3001-\u3004\u3008-\u300b\uff61\uff64\uff65"
_HYPHENS, _DASHES, _BULLETS = "-‐‑‒–－\u00ad", "—―", "|｜•·▪●▫◦‣"
_SIGNS = rf"{_BULLETS}{_DASHES}\{_HYPHENS}"
_MARKS = r"\p{M}\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\uff9e\uff9f"
_IGNORED = r"\p{Default_Ignorable_Code_Point}"
_BLANK = rf"[\s{_IGNORED}]"

# The first class finds places fast; what follows it passes over the blanks between ordinary words.
_SIGN = rf"[\s\\`｀*＊_＿{_SIGNS}%s](?:(?<!\s)|(?=[\s{_SIGNS}{_BESIDE}*＊#>%s])|(?<=[{_BESIDE}]\s))"
_PLAIN_SIGN = re.compile(_SIGN % ("", ""))
# Most texts have none but these, which is soon seen.
_UNUSUAL = re.compile(
    r"[^\x00-\x7f\u00c0-\u024f\u2010-\u2027\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff5e]"
)
_ODD = regex.compile(rf"[{_MARKS}{_IGNORED}\p{{No}}]")
_ODD_SIGN = regex.compile(_SIGN % (rf"{_MARKS}{_IGNORED}\p{{No}}", _IGNORED))

# Blanks, with what only structures text; but before a number, a dash may be a minus, and an asterisk a multiplication.
_GAP = regex.compile(
    rf"(?:{_BLANK}++"
    rf"|[|｜]|(?<=\|):?-{{2,}}+:?"
    rf"|(?:[{_DASHES}]|--)[{_DASHES}\{_HYPHENS}]*+(?!{_BLANK}*+\d)"
    rf"|(?:(?<={_BLANK})|\A)(?:[{_BULLETS}]|[*＊\{_HYPHENS}](?!{_BLANK}++\d)|\#{{1,6}}|(?<=\n|\A)>++)(?={_BLANK}))++"
)
_RANGE = re.compile(rf"(?<=[0-9])\s++[\{_HYPHENS}]\s++(?=[0-9])")
_HYPHEN = re.compile(rf"(?<=[^\W\d_])[\{_HYPHENS}]\s*+(?=[^\W\d_])")
_LETTER_OR_DIGIT = r"[0-9A-Za-z\u00c0-\u024f\u0370-\u052f]"
_STRESS = "[*＊_＿]"
_EMPHASIS = re.compile(
    rf"(?<!{_LETTER_OR_DIGIT})(?<!{_STRESS}){_STRESS}++(?=\S)|(?<=\S)(?<!{_STRESS}){_STRESS}++(?!{_LETTER_OR_DIGIT})"
)
_ESCAPE = re.compile(r"\\[!-/:-@\[-`{-~]")
_CODE = re.compile("(?<![0-9])[`｀]++|[`｀]++(?![0-9])")
_IGNORED_RUN = regex.compile(f"{_IGNORED}++")
_IGNORED_GAP = regex.compile(rf"{_IGNORED}++\s{_BLANK}*+")
_MARK_RUN = regex.compile(rf"[{_MARKS}]++")
_RAISED = regex.compile(r"(?<=\d)\p{No}|\p{No}(?=\d)")

_ENDS_BESIDE = re.compile(f"[{_BESIDE}]")
_BEGINS_BESIDE = re.compile(rf"[*_`\\]*+[{_BESIDE}]")
# A number of another kind beside a plain digit goes into a private plane, lest "10²" be the same as "102".
_PRIVATE_PLANE = 0xF0000


class Canonical:
    """A text with its canonical form, which is made when first needed and then kept, in linear time."""

    def __init__(self, original: str) -> None:
        self.original = original

    @cached_property
    def text(self) -> str:
        """The canonical form."""
        return "".join(self._runs.pieces)

    def origin(self, index: int) -> int:
        """Where in the original the character `text[index]` comes from."""
        return self._runs.locate(index)[0]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the original that `text[start:end]` stands for; whole ones, never a half."""
        return self._runs.locate(start)[0], self._runs.locate(end - 1)[1]

    @cached_property
    def _runs(self) -> "_Writer":
        writer = _Writer(self.original)
        writer.write()
        return writer


class _Writer:
    """Writes the canonical form in runs of characters, most of which correspond one by one to those of the original."""

    def __init__(self, original: str) -> None:
        self._original = original
        self._is_odd = bool(_UNUSUAL.search(original) and _ODD.search(original))
        alike = "" if self._is_odd else make_alike(original)
        # Of the same length only if each character stays one, for without odd ones none is dropped.
        self._alike = alike if len(alike) == len(original) else None
        self._length = 0
        self.pieces: list[str] = []
        # For each piece its offset in the canonical form, and in the original; for one that stands for other
        # characters as a whole, the end of those, otherwise 0.
        self._starts: list[int] = []
        self._origins: list[int] = []
        self._ends: list[int] = []

    def locate(self, index: int) -> tuple[int, int]:
        """The start and end of the original's character that this one of the canonical form comes from."""
        run = bisect_right(self._starts, index) - 1
        if self._ends[run]:
            return self._origins[run], self._ends[run]
        origin = self._origins[run] + index - self._starts[run]
        return origin, origin + 1

    def write(self) -> None:
        """Write it all."""
        original = self._original
        lead = _GAP.match(original)
        position = lead.end() if lead else 0
        signs = _ODD_SIGN if self._is_odd else _PLAIN_SIGN
        while sign := signs.search(original, position):
            position = self._read(position, sign.start())
        self._copy(position, len(original))

    def _read(self, position: int, at: int) -> int:
        """Copies up to a sign and reads it; returns where to go on."""
        sign = self._original[at]
        for pattern, becomes in _RULES.get(sign) or (_RULES[" "] if sign.isspace() else _ODD_RULES):
            match = pattern.match(self._original, at)
            if match:
                end = match.end()
                self._copy(position, at)
                becomes(self, at, end)
                return end
        self._copy(position, at + 1)
        return at + 1

    def _copy(self, start: int, end: int) -> None:
        """Writes ordinary characters, nearly all of which stay one."""
        if start == end:
            return
        if self._alike is not None:
            self._add(self._alike[start:end], start)
            return
        piece = self._original[start:end]
        position = start
        for uneven in map(start.__add__, find_uneven(piece)):
            if position < uneven:
                self._add(make_alike(self._original[position:uneven]), position)
            self._add(make_alike(self._original[uneven]), uneven, uneven + 1)
            position = uneven + 1
        if position < end:
            self._add(make_alike(self._original[position:end]), position)

    def _add(self, piece: str, origin: int, end: int = 0) -> None:
        self.pieces.append(piece)
        self._starts.append(self._length)
        self._origins.append(origin)
        self._ends.append(end)
        self._length += len(piece)

    def drop(self, start: int, end: int) -> None:
        """Writes nothing."""

    def put_gap(self, start: int, end: int) -> None:
        """Writes one blank, if the words beside it are written with blanks."""
        if not self._length or self.pieces[-1].endswith(" ") or _BEGINS_BESIDE.match(self._original, end):
            return
        if not _ENDS_BESIDE.match(self._original, self.locate(self._length - 1)[0]):
            self._add(" ", start, end)

    def put_escaped(self, _start: int, end: int) -> None:
        """Writes the character that a backslash stands before."""
        self._copy(end - 1, end)

    def put_range(self, start: int, end: int) -> None:
        """Writes the dash between two numbers."""
        self._add("-", start, end)

    def put_marks(self, start: int, end: int) -> None:
        """Writes marks anew with the letter that they belong to, which was written without them."""
        if self._length and self.locate(self._length - 1)[0] == start - 1 and not self._original[start - 1].isspace():
            taken = len(self.pieces[-1]) if self._ends[-1] else 1
            self.pieces[-1] = self.pieces[-1][:-taken]
            self._length -= taken
            start -= 1
        self._add(fold(self._original[start:end])[0], start, end)

    def put_raised(self, start: int, _end: int) -> None:
        """Writes a number of another kind."""
        self._add(chr(_PRIVATE_PLANE + ord(self._original[start]) % 0x10000), start, start + 1)


_Rules = tuple[tuple[re.Pattern[str] | regex.Pattern[str], Callable[[_Writer, int, int], None]], ...]
_GAPS: _Rules = ((_GAP, _Writer.put_gap),)
_IGNORED_RULES: _Rules = ((_IGNORED_GAP, _Writer.put_gap), (_IGNORED_RUN, _Writer.drop))
_EMPHASES: _Rules = ((_EMPHASIS, _Writer.drop),)
_HYPHEN_RULES: _Rules = ((_HYPHEN, _Writer.drop), *_IGNORED_RULES, *_GAPS)
_RULES: dict[str, _Rules] = (
    dict.fromkeys(_HYPHENS, _HYPHEN_RULES)
    | dict.fromkeys(_DASHES + _BULLETS, _GAPS)
    | dict.fromkeys("*＊", _GAPS + _EMPHASES)
    | dict.fromkeys("_＿", _EMPHASES)
    | dict.fromkeys("`｀", ((_CODE, _Writer.drop),))
    | {
        " ": ((_RANGE, _Writer.put_range), *_GAPS),
        "\\": ((_ESCAPE, _Writer.put_escaped),),
    }
)
_ODD_RULES: _Rules = ((_MARK_RUN, _Writer.put_marks), *_IGNORED_RULES, (_RAISED, _Writer.put_raised))
