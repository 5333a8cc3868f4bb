"""What single characters become where texts are compared, and which scripts are written without blanks."""

import re

from citewire.text.normalise import fold

UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u3130-\u318f"
    r"\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)
"""Letters of scripts without blanks, for a character class."""

_QUOTES = '"“”„‟″«»‹›‘’‚‛′´「」『』﹁﹂＂＇'
_DASHES = "‐‑‒–—―−﹘－"
_SAME = (
    dict.fromkeys(_QUOTES, "'")
    | dict.fromkeys("[【［〔", "(")
    | dict.fromkeys("]】］〕", ")")
    | dict.fromkeys(_DASHES, "-")
)
_MOST_KEPT = 50_000
# All but letters and signs that are only lowered: to look up each of those as well takes three times as long.
_TO_LOOK_UP = re.compile(
    r"[^ !#-Z\\^-~\u00c0-\u00d6\u00d8-\u00de\u00e0-\u00f6\u00f8-\u00ff\u0400-\u045f\u0621-\u064a\u3001-\u3003"
    r"\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]"
)


class _Alike(dict[int, str]):
    """The folded form of each character that was met, by its code point."""

    def __missing__(self, code: int) -> str:
        folded = fold(chr(code))[0].lower()
        if len(self) < _MOST_KEPT:
            self[code] = folded
        return folded


_ALIKE = _Alike({ord(character): same for character, same in _SAME.items()})


def make_alike(text: str) -> str:
    """The text with each character as `fold` has it, quotation marks and brackets of all kinds as `'` and `()`.

    Each by itself: marks are not joined with their letters, blanks not with other blanks.
    """
    return _TO_LOOK_UP.sub(_look_up, text).lower()


def find_uneven(text: str) -> list[int]:
    """Where the characters stand that become none, or more than one."""
    return [found.start() for found in _TO_LOOK_UP.finditer(text) if len(_look_up(found)) != 1]


def _look_up(character: re.Match[str]) -> str:
    return _ALIKE[ord(character[0])]
