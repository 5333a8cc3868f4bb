"""Does a question lean on what was said before? Three conditions must hold; in doubt it does not."""

import re
from collections.abc import Sequence

from citewire.contracts.sessions import Turn

# A question in a script without spaces is short below this many characters, any other up to so many words.
MAX_CHARACTERS = 24
MAX_WORDS = 8

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

# Words that begin with the same character and refer to nothing are excluded one by one: 其他 (other),
# 应该 (should), 因此 (therefore), 这样 stays, since "like this" does refer.
_CHINESE_REFERENCE = re.compile(
    r"[它牠祂]|(?<!其)[他她](?!人|乡)|[这這那](?=[个個些里裡边邊种種样樣栏欄位家款项項本篇份次天年时時一两兩几幾是])|"
    r"(?<![尤极及与])其(?![他它中实實余餘次间間])|(?<!应)(?<!應)该(?!不|死)(?=[公产項项文书人地机事部方计年法])|"
    r"刚才|剛才|刚刚|上述|上面|前面|前者|后者|後者|之前[说說提]|刚[说說提]|^那.*呢[？?]?$|^[^，。]{1,8}呢[？?]?$"
)
_ENGLISH_REFERENCE = re.compile(
    r"\b(?:it|its|itself|they|them|their|theirs|he|him|his|she|her|hers|this|these|those|that one|"
    r"the former|the latter|the same|the first one|the second one|the above)\b|"
    r"\bthat(?!\s+(?:the|a|an|is|are|was|were|have|has|can|will)\b)(?=\s*(?:[?.!]|$|\w+\s*\?))|"
    r"^(?:and\s+)?(?:what|how)\s+about\b",
    re.IGNORECASE,
)


def is_follow_up(question: str, history: Sequence[Turn]) -> bool:
    """Whether a question is short, refers to something, and has a history that it can refer to."""
    return bool(history) and is_short(question) and has_reference(question)


def is_short(question: str) -> bool:
    """Under 24 characters; in a script with spaces, up to 8 words."""
    text = question.strip()
    if _CJK.search(text):
        return len(text) < MAX_CHARACTERS
    return len(text.split()) <= MAX_WORDS


def has_reference(question: str) -> bool:
    """Whether an expression points outside the question."""
    text = question.strip()
    return bool(_CHINESE_REFERENCE.search(text) or _ENGLISH_REFERENCE.search(text))


def retrieval_context(question: str, history: Sequence[Turn]) -> tuple[str, ...]:
    """The earlier questions that join the retrieval query, newest first; none for a question that stands alone."""
    if not is_follow_up(question, history):
        return ()
    return tuple(turn.question for turn in reversed(history))
