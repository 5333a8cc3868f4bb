"""Drafts of a plan, and the one without a model: the question and its separable parts, to every knowledge base."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewire.contracts.evidence import SearchQuery
from citewire.contracts.provenance import Planner
from citewire.text.tokenizer import tokenize

# A part needs so many terms to be worth a search of its own.
MIN_PART_TERMS = 2

_PART_END = re.compile(r"(?<=[？?；;！!。])|\n+")


@dataclass(frozen=True)
class Draft:
    """What is to be searched, who says so, and what went wrong on the way."""

    queries: tuple[SearchQuery, ...]
    planner: Planner
    problems: tuple[str, ...] = ()


def plan_queries(
    question: str, context: Sequence[str], kb_ids: Sequence[str], max_queries: int
) -> tuple[SearchQuery, ...]:
    """At most `max_queries` different queries, each bound to every knowledge base; the question comes first.

    The cap counts queries before they fan out, so a further knowledge base never costs a query.
    """
    texts = [question.strip(), *separable_parts(question)]
    distinct = list(dict.fromkeys(text for text in texts if text))[:max_queries]
    return tuple(SearchQuery(query=text, kb_id=kb_id, context=tuple(context)) for kb_id in kb_ids for text in distinct)


def separable_parts(question: str) -> tuple[str, ...]:
    """The sentences of a question that asks several things; none when it asks one."""
    parts = [part.strip() for part in _PART_END.split(question)]
    parts = [part for part in parts if len(tokenize(part)) >= MIN_PART_TERMS]
    return tuple(parts) if len(parts) > 1 else ()
