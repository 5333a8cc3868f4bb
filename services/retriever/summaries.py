"""Has a model describe a document, in as few requests as its sections take, within a time limit."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from citewire.contracts.provenance import Usage
from citewire.runtime.model.failures import ModelFailed
from citewire.runtime.model.requests import CallReport, ModelRequest
from retriever.ingest.context import (
    Described,
    Excerpt,
    UnusableAnswer,
    document_request,
    read_answer,
    sections_request,
)

if TYPE_CHECKING:
    # It loads openai, which takes half a second and 50 MB.
    from citewire.runtime.model.client import ModelClient


@dataclass
class Summaries:
    """What was found out about a document until it was complete, or something went wrong: then `reason` says what.

    `sections` has summaries by the section's number. `may_pass`: another try can succeed, after `retry_after` seconds
    if the provider named a time.
    """

    title: str = ""
    summary: str = ""
    sections: dict[int, str] = field(default_factory=dict)
    usage: Usage | None = None
    reason: str | None = None
    may_pass: bool = False
    retry_after: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that a header could say."""
        return not self.summary and not self.sections


async def summarise(client: "ModelClient", document: Described, limit: float) -> Summaries:
    """Ask until all sections are summarised, `limit` seconds are over, or a request fails."""
    found, name = Summaries(), client.provider.name
    try:
        async with asyncio.timeout(limit):
            await _ask_all(client, document, found)
    except TimeoutError:
        found.reason, found.may_pass = f"the model provider {name} took longer than {limit:.0f} s", True
    except UnusableAnswer:
        found.reason = f"the model provider {name} answered with something else than JSON"
    except ModelFailed as error:
        found.reason, found.may_pass, found.retry_after = str(error), error.may_pass, error.retry_after
    else:
        found.reason = found.reason or _missing(document, found)
    return found


async def _ask_all(client: "ModelClient", document: Described, found: Summaries) -> None:
    # Counting tokens takes the processor for a while, and half a second at the first time.
    request, sent = await asyncio.to_thread(document_request, client.provider, document)
    await _ask(client, request, document.sections[:sent], found)
    rest = document.sections[sent:]
    while rest:
        request, sent = await asyncio.to_thread(sections_request, client.provider, document, found.summary, rest)
        await _ask(client, request, rest[:sent], found)
        rest = rest[sent:]


async def _ask(client: "ModelClient", request: ModelRequest, sections: Sequence[Excerpt], found: Summaries) -> None:
    """One request; what it asked for and the answer has goes to what was found."""
    report = CallReport()
    try:
        text = await client.complete(request, report)
    finally:
        found.usage = add_usage(found.usage, report.usage)
    answer = read_answer(text)
    found.title = found.title or answer.title
    found.summary = found.summary or answer.summary
    asked = {section.number for section in sections}
    found.sections.update({number: text for number, text in answer.sections.items() if number in asked})
    found.reason = found.reason or next(iter(report.problems), None)


def _missing(document: Described, found: Summaries) -> str | None:
    """What the answers should have had and did not."""
    missing = len(document.sections) - len(found.sections)
    if found.is_empty:
        return "the model summarised nothing"
    if missing:
        return f"the model left out {missing} of {len(document.sections)} sections"
    return None if found.summary else "the model left out the document's own summary"


def add_usage(before: Usage | None, more: Usage | None) -> Usage | None:
    """What both cost together."""
    if before is None or more is None:
        return before or more
    return Usage(**{name: getattr(before, name) + getattr(more, name) for name in Usage.model_fields})
