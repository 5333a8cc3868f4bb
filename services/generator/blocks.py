"""Sources as a model sees them: numbered blocks that no text inside can close, open or imitate."""

import re
import unicodedata
from itertools import accumulate, pairwise

import regex

from citewire.contracts.evidence import Passage
from citewire.text.normalise import clean
from generator.citations.neutralise import neutralise_markers

# Longer titles tell a model nothing more.
MAX_TITLE = 200

# Invisible, and of no use to a reader: soft hyphen, zero width, bidi controls, tag and variation characters that can
# carry hidden text. The joiners of emoji and of Indic and Persian words (U+200C, U+200D) are not among them.
_HIDDEN = regex.compile(r"[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]+")
_ENTITY = re.compile(r"&(?=(?:amp|lt|quot);|#)")
# Always escaped; NFKC makes each of them `<`, so that a quote copied with the entity can still be proved.
_LESS_THAN = re.compile("[<＜﹤]")
# Other brackets that a model could take for `<`; ordinary texts are full of some of them.
_ANGLE = re.compile("[<＜﹤‹〈《〈⟨⟪❬❮❰ᐸ˂«⧼≺≪≮]")
_OUR_TAG = re.compile(
    r"[<‹〈《〈⟨⟪❬❮❰ᐸ˂«⧼≺≪][\s/\\|]{0,20}(?:sources?|page|session)"
    r"(?:\s{0,20}(?:[^\w\s]|ᐳ|$)|\s{1,20}(?:number|title|pages)\b)"
)
_MARKS = regex.compile(r"[\p{M}\p{Default_Ignorable_Code_Point}]+")
_PAGE_TAG = re.compile(r'<page number="\d+"/>')
_MAY_BE_MARKER = re.compile(r"[\[【［][ \t]*[1-9１-９]")
_BLANK = re.compile(r"\s+")


def escape(text: str) -> str:
    """The text as it may stand in a block: no tag and no control word (`<|…|>`) of a model can be in it.

    `<` and its wide forms become `&lt;`, what looks like an entity of ours gets an `&amp;`.
    """
    return escape_tags(_LESS_THAN.sub("&lt;", _ENTITY.sub("&amp;", text)))


def escape_tags(text: str) -> str:
    """The text as it is, unless it holds a likeness of our own tags: then no bracket of it can begin one."""
    return _ANGLE.sub("&lt;", text) if _ANGLE.search(text) and _OUR_TAG.search(_plain(text)) else text


def _plain(text: str) -> str:
    """Without regard to case, width, style, accents and invisible characters; in linear time."""
    return _MARKS.sub("", unicodedata.normalize("NFKD", _MARKS.sub("", text))).casefold()


def _visible(text: str) -> str:
    return _HIDDEN.sub("", clean(text))


def unescape(copied: str) -> str:
    """What a model copied from a block, as it stands in the source: without our page tags, escapes turned back.

    Markers stay neutralised.
    """
    text = _PAGE_TAG.sub("", copied)
    return text.replace("&lt;", "<").replace("&quot;", '"').replace("&amp;", "&") if "&" in text else text


def source_blocks(blocks: list[str]) -> str:
    """All blocks together, as they begin the last message."""
    return "\n".join(["<sources>", *blocks, "</sources>"])


def source_block(number: int, passage: Passage) -> str:
    """One source: its number, title and pages, and its text with a tag where a page begins if there are several."""
    pages = f' pages="{_page_range(passage)}"' if passage.pages else ""
    return f'<source number="{number}" title="{_title(passage.title)}"{pages}>\n{_body(passage)}\n</source>'


def _harmless(text: str) -> str:
    """The text with its markers neutralised; reading Markdown is worth it only where something could be one."""
    return neutralise_markers(text) if _MAY_BE_MARKER.search(text) else text


def _title(title: str) -> str:
    short = _BLANK.sub(" ", _visible(title)).strip()[:MAX_TITLE]
    return escape(_harmless(short)).replace('"', "&quot;")


def _page_range(passage: Passage) -> str:
    first, last = passage.pages[0].number, passage.pages[-1].number
    return str(first) if first == last else f"{first}-{last}"


def _body(passage: Passage) -> str:
    """The text in parts, one per page; what stands before the first page that is known counts to it."""
    borders = [0, *(max(0, page.start - passage.start) for page in passage.pages[1:]), len(passage.text)]
    parts = [_visible(passage.text[start:end]) for start, end in pairwise(borders)]
    if len(parts) == 1:
        return escape(_harmless(parts[0]))
    # A marker keeps its length, so the parts can be told again after the whole was looked at.
    text, ends = _harmless("".join(parts)), accumulate(map(len, parts), initial=0)
    tagged = zip(passage.pages, pairwise(ends), strict=True)
    return "".join(f'<page number="{page.number}"/>{escape(text[start:end])}' for page, (start, end) in tagged)
