"""Text made safe to store (`clean`) and text made comparable (`fold`, `compatible`)."""

import math
import re
import unicodedata
from functools import lru_cache
from itertools import repeat
from typing import Any

import regex

# Form feed and vertical tab end a line (PDF pages do): dropping them would glue two words together.
_LINE_ENDS = regex.compile(r"\r\n?|[\x0b\x0c]")
_CONTROLS = regex.compile(r"[\x00-\x08\x0e-\x1f]+")
_SURROGATES = regex.compile(r"[\ud800-\udfff]")
# What `clean` changes beside surrogates, as bytes of UTF-8: all but tab and line feed.
_CONTROL_BYTES = bytes({*range(32)} - {0x09, 0x0A})
_INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
# Texts of these characters alone, as most are, have nothing that is invisible and no marks: Latin, the general
# punctuation that can be seen, CJK punctuation up to the tone marks, kana, Han, full width forms of ASCII.
_ALL_VISIBLE = re.compile(
    r"[\x00-\xac\xae-\u02ff\u2010-\u2027\u2030-\u205e\u3000-\u3029\u3030-\u3096\u309b-\u30ff\u4e00-\u9fff\uff01-\uff5e]*+"
)
_WIDE = tuple(zip("，：；！？（）\u3000", ",:;!?() ", strict=True))

# Ordering a run of marks takes quadratic time in `unicodedata` (6 s for 80,000). No word has more
# than a few; Unicode's own stream-safe form allows 30.
_MOST_MARKS = 30
_MARK_FLOOD = regex.compile(rf"(\p{{M}}{{{_MOST_MARKS}}})\p{{M}}+")

# Characters that folding leaves as they are or lowers one to one, when nothing after them can combine.
_PLAIN_OR_CLUSTER = regex.compile(r"([!-~\u4e00-\u9fff]+(?=[\x00-\x7f\u4e00-\u9fff]|\Z))|(\s+)|\X")
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛′`´", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—―−﹘－", "-")
)


def clean(text: str) -> str:
    r"""Text that every store, wire and screen takes: LF line ends, no other control characters but tab.

    CRLF, CR, VT and FF become `\n`; NUL and the other C0 controls and lone surrogates go; a surrogate
    pair becomes the character it stands for; all else, emoji too, stays. Idempotent.
    """
    if _is_clean(text):
        return text
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", _join_surrogates(text)))


class StreamCleaner:
    """`clean` for a text that comes in pieces: the results joined are what `clean` makes of the pieces joined.

    A CR or a first half of a surrogate pair at the end of a piece waits for what follows it.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be said of the text with this piece; may be empty."""
        if not self._held and _is_clean(piece):
            return piece
        text = self._held + piece
        half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = _join_surrogates(text[: len(text) - len(half)])
        # Lone halves are gone now: a CR that was before one may be the last.
        self._held = ("\r" if text.endswith("\r") else "") + half
        return clean(text.removesuffix("\r"))

    def feed_all(self, pieces: list[str]) -> list[str]:
        """`feed` for many pieces, which seldom need it."""
        if not self._held and _is_clean("".join(pieces)):
            return pieces
        return [self.feed(piece) for piece in pieces]

    def end(self) -> str:
        """What was held back, once no more pieces come."""
        text, self._held = self._held, ""
        return clean(text)


def clean_json(value: Any) -> Any:
    """The same JSON value with every text and key cleaned, and NaN and infinities as None."""
    match value:
        case str():
            return clean(value)
        case float() if not math.isfinite(value):
            return None
        case list() | tuple():
            return [clean_json(item) for item in value]
        case dict():
            return {clean_json(key): clean_json(item) for key, item in value.items()}
        case _:
            return value


def compatible(text: str) -> str:
    """NFKC without invisible characters (soft hyphen, zero width, bidi marks), in linear time."""
    if text.isascii():
        return text
    if _ALL_VISIBLE.fullmatch(text):
        return _normalised(text)
    visible = _INVISIBLE.sub("", text)
    return unicodedata.normalize("NFKC", _MARK_FLOOD.sub(r"\1", visible))


def _normalised(text: str) -> str:
    """NFKC, faster for a Chinese text in which only punctuation is not normal."""
    for wide, narrow in _WIDE:
        text = text.replace(wide, narrow)
    return text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)


def fold(text: str) -> tuple[str, list[int]]:
    """The text in a form to compare by, and for each of its characters the index it came from.

    NFKC, casefold, invisible characters out, a run of white space as one space, typographic quotes and
    dashes as ASCII ones. The list has one entry more than the folded text, the original's length, and never
    decreases; `unfold` turns a match into a span of the original.
    """
    pieces: list[str] = []
    origins: list[int] = []
    for match in _PLAIN_OR_CLUSTER.finditer(text):
        plain, blank = match.groups()
        piece = plain.translate(_TYPOGRAPHY).lower() if plain else " " if blank else _fold_cluster(match.group())
        pieces.append(piece)
        origins.extend(range(match.start(), match.end()) if plain else repeat(match.start(), len(piece)))
    origins.append(len(text))
    return "".join(pieces), origins


def unfold(origins: list[int], start: int, end: int) -> tuple[int, int]:
    """The span of the original text that folded[start:end] came from; whole characters, never a half.

    `origins` is the list that `fold` gave; 0 <= start < end < len(origins).
    """
    last = origins[end - 1]
    while origins[end] == last and end < len(origins) - 1:
        end += 1
    return origins[start], origins[end]


def _is_clean(text: str) -> bool:
    """Whether `clean` would change nothing; many times faster than to look for what it changes."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return False
    return len(encoded.translate(None, _CONTROL_BYTES)) == len(encoded)


def _join_surrogates(text: str) -> str:
    """Pairs become the characters that they stand for, lone halves go."""
    if not _SURROGATES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


@lru_cache(maxsize=8192)
def _fold_cluster(cluster: str) -> str:
    """Fold one user-perceived character; folding again after casefold, which may leave marks uncomposed."""
    typewritten = cluster[: _MOST_MARKS + 1].translate(_TYPOGRAPHY)
    return compatible(compatible(typewritten).casefold())
