"""Answers by a provider's model; where that fails before a word was said, by sentences of the same evidence."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.evidence import Source
from citewire.contracts.provenance import Generator, Maker
from citewire.contracts.providers import AnswerForm, Purpose
from citewire.runtime.bus import seconds_left
from citewire.runtime.model.failures import Failure, ModelFailed
from citewire.runtime.model.requests import CallReport
from citewire.runtime.providers import Providers
from citewire.text.normalise import clean
from generator.draft import Draft
from generator.extractive import ExtractiveWriter
from generator.prompt import Prompt, PromptTooLong, build_prompt, evidence_room
from generator.reading.inline import InlineReader
from generator.reading.structured import InvalidJson, StructuredReader
from generator.reading.tail import Tail
from generator.write import Cut

if TYPE_CHECKING:
    from citewire.runtime.model.client import ModelClient

# Seconds of an answer's time that are kept for sentences of the evidence, should the model not begin in time.
FALLBACK_RESERVE = 1.5


class Reads(Protocol):
    """Takes what a model writes apart, piece by piece."""

    def feed(self, piece: str) -> str:
        """Text that can be shown now."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing but quotes can come."""

    def end(self) -> Tail:
        """The rest, and the quotes."""


_READERS: Final[Mapping[AnswerForm, Callable[[], Reads]]] = {
    AnswerForm.INLINE: InlineReader,
    AnswerForm.STRUCTURED: StructuredReader,
}


@dataclass(frozen=True)
class ModelWriter:
    """Writes with a model where one is configured, and says in the draft who wrote.

    `most_evidence`: tokens (o200k_base) that the evidence may have however large the model's context is.
    """

    providers: Providers
    extractive: ExtractiveWriter
    most_evidence: int

    def evidence_tokens(self, plan: RetrievalPlanned) -> int:
        """How many tokens (o200k_base) the evidence of a question may have."""
        provider = self.providers.entry(Purpose.ASK)
        room = self.most_evidence if provider is None else evidence_room(provider, plan)
        return min(self.most_evidence, room)

    async def write(self, plan: RetrievalPlanned, sources: Sequence[Source], draft: Draft) -> AsyncGenerator[str]:
        """The pieces of the answer; raises Cut where the model breaks off in the middle."""
        client = self.providers.for_purpose(Purpose.ASK)
        # Where searching found nothing there is nothing to ask a model for.
        if client is not None and (sources or not plan.kb_ids):
            answer = _ModelAnswer(client, plan, sources, draft)
            async with contextlib.aclosing(answer.pieces()) as pieces:
                async for piece in pieces:
                    yield piece
            if answer.is_told:
                return
        async with contextlib.aclosing(self.extractive.write(plan, sources, draft)) as pieces:
            async for piece in pieces:
                yield piece


class _ModelAnswer:
    """One try: `is_told` says afterwards whether the model's text is the answer."""

    def __init__(self, client: "ModelClient", plan: RetrievalPlanned, sources: Sequence[Source], draft: Draft) -> None:
        self._client = client
        self._plan = plan
        self._sources = sources
        self._draft = draft
        self.is_told = False

    async def pieces(self) -> AsyncGenerator[str]:
        try:
            prompt = build_prompt(self._client.provider, self._plan, self._sources)
            async with contextlib.aclosing(self._read(prompt)) as texts:
                async for text in texts:
                    yield text
        except (ModelFailed, InvalidJson, PromptTooLong) as failure:
            if self.is_told:
                raise Cut(str(failure)) from None
            self._draft.problems.append(f"answered without a model: {failure}")

    async def _read(self, prompt: Prompt) -> AsyncGenerator[str]:
        report, reader = CallReport(), _READERS[self._client.provider.form]()
        limit = max(0.0, seconds_left(self._plan.deadline) - FALLBACK_RESERVE)
        try:
            async with contextlib.aclosing(self._client.stream(prompt.request, report, limit)) as pieces:
                async for piece in pieces:
                    if text := reader.feed(piece):
                        self._tell(text, prompt)
                        yield text
            tail = reader.end()
            self._tell(tail.text, prompt)
            self._check_told()
            self._take(tail, prompt, report)
            if tail.text:
                yield tail.text
        except ModelFailed as failure:
            if not self.is_told:
                raise
            if not reader.is_whole:
                # What broke off may have quoted already.
                with contextlib.suppress(InvalidJson):
                    self._draft.claims += reader.end().claims
                raise
            tail = reader.end()
            broken = f"the list of quotes broke off: {failure}" if tail.problem else None
            self._take(replace(tail, problem=broken), prompt, report)
        finally:
            self._note(prompt, report)

    def _take(self, tail: Tail, prompt: Prompt, report: CallReport) -> None:
        self._draft.claims += tail.claims
        self._draft.problems += [*report.problems, *filter(None, [tail.problem]), *_left_out(prompt)]

    def _check_told(self) -> None:
        if not self.is_told:
            raise ModelFailed(self._client.provider.name, Failure.EMPTY, "gave no answer")

    def _tell(self, text: str, prompt: Prompt) -> None:
        """From the first visible character on, the model's text is the answer."""
        if not self.is_told and clean(text):
            self.is_told = True
            self._draft.history_turns = prompt.history_turns

    def _note(self, prompt: Prompt, report: CallReport) -> None:
        name, model = self._client.provider.name, prompt.request.model
        self._draft.generator = (
            Generator(made_by=Maker.MODEL, provider=name, model=model, usage=report.usage)
            if self.is_told
            else Generator(usage=report.usage)
        )


def _left_out(prompt: Prompt) -> list[str]:
    """Sources that the reader sees and the model did not."""
    if not prompt.left_out:
        return []
    return [f"no room in the model's context for {', '.join(f'[{number}]' for number in prompt.left_out)}"]
