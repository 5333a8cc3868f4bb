"""Which script a text is written in."""

from collections import Counter
from enum import StrEnum
from typing import Final

import regex

# Enough to know a text's script by.
_SAMPLE: Final = 10_000
# Japanese has Han characters as well, and hardly a sentence without kana; Chinese has none but in names.
_KANA_SHARE: Final = 0.1
# Words, or runs of characters where words are not told apart: about two of these make a word.
_UNSPACED: Final = frozenset({"han", "kana"})
_WORDS = regex.compile(
    r"(?P<han>\p{Han}+)|(?P<kana>[\p{Hiragana}\p{Katakana}]+)|(?P<hangul>\p{Hangul}+)|(?P<cyrillic>\p{Cyrillic}+)"
    r"|(?P<latin>\p{Latin}+)|(?P<other>\p{L})"
)


class Script(StrEnum):
    """What a text is written in; KANA is Japanese, its Han characters included."""

    HAN = "han"
    KANA = "kana"
    HANGUL = "hangul"
    CYRILLIC = "cyrillic"
    LATIN = "latin"
    OTHER = "other"


def script_of(text: str) -> Script | None:
    """The script that most words of a text (of its first 10,000 characters) are written in; None without any.

    Words, not letters, because a Latin name in a Chinese question has more letters than the question has characters.
    """
    sample = text[:_SAMPLE]
    if sample.isascii():
        # Milliseconds less than to count.
        return Script.LATIN if any(map(str.isalpha, sample)) else None
    counts = Counter[str]()
    for found in _WORDS.finditer(sample):
        name = found.lastgroup or ""
        counts[name] += found.end() - found.start() if name in _UNSPACED else 1
    japanese_or_chinese = counts.pop("han", 0), counts.pop("kana", 0)
    script = Script.KANA if japanese_or_chinese[1] > _KANA_SHARE * sum(japanese_or_chinese) else Script.HAN
    words: dict[Script, float] = {script: sum(japanese_or_chinese) / 2}
    words |= {Script(name): count for name, count in counts.items()}
    best = max(words, key=lambda name: words[name])
    return best if words[best] else None
