"""From the queries of a test set to the searches for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer

from citewire.cli.eval_set import JudgedQuery
from citewire.contracts.requests import MAX_CONTEXT

LONGEST_QUERY = 4000


@dataclass(frozen=True)
class Question:
    """A query and the body of the search for it."""

    query: JudgedQuery
    body: dict[str, Any]


def chosen(queries: Sequence[JudgedQuery], where: str | None) -> list[JudgedQuery]:
    """The queries whose metadata has a `KEY=VALUE`, or all; raises typer.BadParameter."""
    if where is None:
        return list(queries)
    key, value = _pair(where)
    return [query for query in queries if str(query.metadata.get(key)) == value]


def question_of(query: JudgedQuery, filter_by: str | None, *, history: bool) -> Question:
    """The search for a query; `filter_by` is a `FIELD=KEY` of its metadata; raises typer.BadParameter."""
    body: dict[str, Any] = {"query": query.text[:LONGEST_QUERY], "explain": True}
    if history:
        body["context"] = [text[:LONGEST_QUERY] for text in query.context[-MAX_CONTEXT:]]
    if filter_by is not None:
        field, key = _pair(filter_by)
        body["filter"] = {"field": field, "operator": "equals", "value": query.metadata.get(key)}
    return Question(query, body)


def _pair(text: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise typer.BadParameter(f"{text!r} is not of the form NAME=VALUE")
    return left, right
