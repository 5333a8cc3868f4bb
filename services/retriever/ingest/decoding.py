"""Bytes of a text file to text."""

import codecs
import re
from collections.abc import Iterator
from typing import Final

from citewire.text.normalise import clean
from retriever.ingest.document import UnreadableDocument
from retriever.ingest.limits import MAX_CHARACTERS

# By their mark; the longer ones first, since one begins with another.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What a page may declare, as the WHATWG Encoding Standard reads the label where it differs from Python.
_LABELS: Final = {"gbk": "gb18030", "gb2312": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}
_DECLARABLE: Final = re.compile(
    r"utf-8|gb18030|cp1252|big5(hkscs)?|shift_jis|cp932|euc_jp|euc_kr|cp949|iso8859-\d+|cp125\d|cp874"
    r"|cp866|koi8-[ru]|mac-roman"
)
# In Chinese text the second byte of a pair is seldom a letter; a Latin-1 accent mostly has one behind it.
_LATIN_PAIR: Final = re.compile(rb"[\x81-\xfe][@-~]")
_CHINESE_PAIR: Final = re.compile(rb"[\x81-\xfe][\x80-\xfe]")

_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# A stray NUL is no reason to refuse a file; above this share of control characters it is no text.
_MOST_CONTROLS: Final = 0.05
_FEW_CONTROLS: Final = 8
_SAMPLE: Final = 65_536


def decode_text(data: bytes, declared: str | None = None) -> str:
    """The clean text of a file: by its byte order mark, UTF-8, as declared, or GB 18030 (GBK and GB 2312 with it).

    Bytes that are valid UTF-8 are so whatever a page declares: servers convert pages and forget to say.

    Raises UnreadableDocument for bytes that are none of them, binary data, or too much text.
    """
    for encoding in _candidates(data, declared):
        try:
            text = data.decode(encoding)
        except UnicodeError:
            continue
        _check_is_text(text)
        if len(text) > MAX_CHARACTERS:
            raise UnreadableDocument(f"has more than {MAX_CHARACTERS:,} characters of text")
        return clean(text)
    raise UnreadableDocument("is not text in UTF-8, UTF-16 or GB 18030")


def _candidates(data: bytes, declared: str | None) -> Iterator[str]:
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)
    if marked:
        yield marked
        return
    yield "utf-8"
    if name := _python_name(declared):
        yield name
    if _looks_chinese(data):
        yield "gb18030"


def _python_name(declared: str | None) -> str | None:
    try:
        name = codecs.lookup(declared or "").name
    except LookupError:
        return None
    name = _LABELS.get(name, name)
    return name if _DECLARABLE.fullmatch(name) else None


def _looks_chinese(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    return len(_LATIN_PAIR.findall(sample)) <= len(_CHINESE_PAIR.findall(sample))


def _check_is_text(text: str) -> None:
    sample = text[:_SAMPLE]
    controls = len(_CONTROL.findall(sample))
    if controls > max(_FEW_CONTROLS, _MOST_CONTROLS * len(sample)):
        raise UnreadableDocument("holds binary data, not text")
