"""Reads a model's plan: what it says is taken as far as it makes sense, healed, and capped. Pure."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from citewire.contracts.events import MAX_QUESTION_CHARACTERS
from citewire.contracts.evidence import SearchQuery
from citewire.text.normalise import clean, fold
from citewire.text.reasoning import ReasoningFilter

# Characters of a plan that are looked at, and beginnings of objects that are tried in them.
MAX_PLAN_CHARACTERS = 200_000
MAX_STARTS = 200

_DECODER = json.JSONDecoder(strict=False)


class UnusableProposal(Exception):  # noqa: N818 - a fact about a model's text, not a bug of ours
    """A model's plan has nothing in it that could be searched; the text says what is wrong."""


@dataclass(frozen=True)
class Proposal:
    """A model's plan; without `search_needed` it has no queries. An unchanged `rewritten_question` is empty."""

    queries: tuple[SearchQuery, ...]
    rewritten_question: str
    search_needed: bool


def read_proposal(text: str, question: str, kb_ids: Sequence[str], max_queries: int) -> Proposal:
    """The plan in a model's answer, with queries to `kb_ids` only, in their order; raises UnusableProposal.

    Each query that the model gives counts once for `max_queries`, also if it goes to several knowledge bases: one that
    names none of `kb_ids` goes to all of them. A plan with queries is searched, whatever else it says.
    """
    plan = _find_plan(_visible(text))
    if plan is None:
        raise UnusableProposal("no JSON object with a plan")
    queries = _queries(plan.get("queries"), kb_ids, max_queries)
    # A word for it is as good as the value.
    if not queries and str(plan.get("search_needed")).lower() != "false":
        raise UnusableProposal("no query that could be searched")
    return Proposal(queries, _rewritten(plan.get("standalone_question"), question), bool(queries))


def _find_plan(text: str) -> dict[str, Any] | None:
    """The last object in the text that looks like a plan: what is before it may be a draft of it."""
    plans = [value for value in _objects(text[:MAX_PLAN_CHARACTERS]) if {"queries", "search_needed"} & value.keys()]
    return plans[-1] if plans else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, from left to right, none within another."""
    start = text.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _queries(given: Any, kb_ids: Sequence[str], max_queries: int) -> tuple[SearchQuery, ...]:
    chosen = _Chosen(kb_ids, max_queries)
    for item in given if isinstance(given, list) else [given]:
        match item:
            case {"query": str(text), **rest}:
                chosen.add(text, rest.get("kb_id"))
            case str():
                chosen.add(item, None)
    return tuple(SearchQuery(query=text, kb_id=kb_id) for kb_id in kb_ids for text in chosen.texts[kb_id].values())


@dataclass
class _Chosen:
    """The queries so far: for each knowledge base their texts by what makes two of them the same."""

    kb_ids: Sequence[str]
    free: int
    texts: dict[str, dict[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.texts = {kb_id: {} for kb_id in self.kb_ids}

    def add(self, text: str, kb_id: Any) -> None:
        """Take a query that is new and not empty, while there is room."""
        text = _one_line(text)
        if not self.free or len(text) > MAX_QUESTION_CHARACTERS or not any(map(str.isalnum, text)):
            return
        folded, _ = fold(text)
        targets = [target for target in self._targets(kb_id) if folded not in self.texts[target]]
        for target in targets:
            self.texts[target][folded] = text
        self.free -= bool(targets)

    def _targets(self, kb_id: Any) -> Sequence[str]:
        named = kb_id.strip().lower() if isinstance(kb_id, str) else ""
        return [named] if named in self.texts else self.kb_ids


def _rewritten(given: Any, question: str) -> str:
    """The question as the model puts it, if that is another one, and not absurdly long."""
    text = _one_line(given) if isinstance(given, str) else ""
    longest = min(4 * len(question) + 400, MAX_QUESTION_CHARACTERS)
    is_same = fold(text)[0] == fold(" ".join(question.split()))[0]
    return "" if is_same or len(text) > longest else text


def _one_line(text: str) -> str:
    return " ".join(clean(_visible(text)).split())


def _visible(text: str) -> str:
    """The text without a model's reasoning, which some servers leave in it."""
    reasoning = ReasoningFilter()
    return reasoning.feed(text) + reasoning.end()
