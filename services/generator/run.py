"""One answer from plan to end: gather, evidence, text, citations, outcome; resumed where a dead worker stopped."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from citewire.contracts.answers import DoneFrame, EntryKind, SourcesFrame
from citewire.contracts.events import RetrievalPlanned, SegmentsFound, now
from citewire.contracts.evidence import Quality, QualityLevel, Source
from citewire.contracts.sessions import InteractionStatus
from citewire.runtime.answer_log import AppendOutcome, encode_entry
from citewire.runtime.bus import Bus, seconds_left
from citewire.runtime.errors import TransientError
from citewire.runtime.written import Written
from generator.changes import DocumentChanges
from generator.citations.collect import Cited, Claim, collect_citations
from generator.draft import Draft
from generator.evidence import Budget, build_evidence, collect_legs, failed_kbs, judge_quality
from generator.leased import LeasedLog, WriteRefused, insist
from generator.outcome import Ending, done_frame, finished_interaction, milliseconds
from generator.settings import Settings
from generator.stopping import Stopped, Stopping
from generator.write import END_PATIENCE, Cut, Differs, TextLimits, TextWriter

# Seconds kept back from an answer's time for its end: citations, log, outcome.
END_RESERVE = 0.5
# Seconds that the sources may take to be written before the text is begun all the same.
SOURCES_PATIENCE = 1.0

_NOTHING_SEARCHED = Quality(level=QualityLevel.NONE, reason="no knowledge base was searched")


class Gathers(Protocol):
    """Waits for what the knowledge bases of a question found."""

    async def gather(
        self, question_id: UUID, kb_ids: Sequence[str], until: datetime, limits: Mapping[str, datetime]
    ) -> dict[str, SegmentsFound]:
        """Results by knowledge base, those that came before `until`, or before the knowledge base's own limit."""


class Writes(Protocol):
    """Makes the text of an answer."""

    def write(self, plan: RetrievalPlanned, sources: Sequence[Source], draft: Draft) -> AsyncGenerator[str]:
        """The pieces of the text as they come; the rest is noted in `draft`. Raises Cut where the text breaks off."""


@dataclass(frozen=True)
class Parts:
    """What all answers of a process are made with.

    `continuing` writes the text once more that a lost worker began, as far as such a text is always the same.
    `evidence_tokens` says how many tokens the evidence of a question may have.
    """

    bus: Bus
    gatherer: Gathers
    writer: Writes
    continuing: Writes
    evidence_tokens: Callable[[RetrievalPlanned], int]
    changes: DocumentChanges
    settings: Settings


class AnswerRun:
    """The work on one answer by the holder of its lease; raises TakenOver as soon as another holds it.

    Redis is needed for nothing but the live text: without it, the outcome is published all the same.
    """

    def __init__(
        self, parts: Parts, plan: RetrievalPlanned, log: LeasedLog, written: Written, stopping: Stopping
    ) -> None:
        self._parts = parts
        self._plan = plan
        self._log = log
        self._written = written
        self._stopping = stopping

    async def answer(self) -> None:
        """Answer the question, as far as that was not done before."""
        if self._written.done is not None:
            await self._publish(self._written.sources, self._written.text, self._written.done)
            return
        frame = self._written.sources or await self._find_sources()
        found_at, settings, draft = now(), self._parts.settings, Draft()
        text = TextWriter(self._log, self._written.text, TextLimits(settings.answer_characters, settings.write_window))
        ending = replace(await self._write(frame, text, draft), draft=draft)
        cited = self._cite(text.text, draft.claims, frame)
        done = done_frame(self._plan, frame, ending, cited, _timings(self._plan, found_at))
        self._log.put(*text.rest())
        await self._finish(frame, text.text, done)

    async def end(self, reason: str) -> None:
        """End a question that could not be answered, keeping what was written of it."""
        frame, text = self._written.sources, self._written.text
        if self._written.done is not None:
            await self._publish(frame, text, self._written.done)
            return
        cited = self._cite(text, (), frame) if frame else Cited((), ())
        status = InteractionStatus.INCOMPLETE if text else InteractionStatus.FAILED
        elapsed = {"total": milliseconds(self._plan.asked_at, now())}
        await self._finish(frame, text, done_frame(self._plan, frame, Ending(status, reason), cited, elapsed))

    async def _find_sources(self) -> SourcesFrame:
        plan, settings, found = self._plan, self._parts.settings, dict[str, SegmentsFound]()
        wait = min(seconds_left(plan.deadline) * settings.gather_share, settings.gather_limit)
        with contextlib.suppress(Stopped):
            async with self._stopping.interrupting():
                until = now() + timedelta(seconds=wait)
                found = await self._parts.gatherer.gather(plan.question_id, plan.kb_ids, until, plan.kb_limits)
        frame = _sources_frame(plan, found, settings, self._parts.evidence_tokens(plan))
        self._log.put(encode_entry(EntryKind.SOURCES, frame))
        try:
            await insist(self._log.write, SOURCES_PATIENCE)
        except WriteRefused:
            self._stopping.set()
        except TransientError:
            pass  # they wait in the log, and come with the text or with the end
        return frame

    async def _write(self, frame: SourcesFrame, text: TextWriter, draft: Draft) -> Ending:
        """Write the text until it ends, or something ends it."""
        plan, stopping = self._plan, self._stopping
        writer = self._parts.continuing if self._written.text else self._parts.writer
        try:
            async with stopping.interrupting(max(0.0, seconds_left(plan.deadline) - END_RESERVE)):
                await text.write_all(writer.write(plan, frame.sources, draft))
        except Stopped:
            return Ending(InteractionStatus.STOPPED)
        except WriteRefused as refused:
            return _refused(refused.outcome)
        except (Cut, TimeoutError) as cut:
            if isinstance(cut, Differs):
                # Claims and author belong to the other text.
                draft.claims.clear()
                draft.generator = None
            return _cut_short(cut, text.text)
        return Ending(InteractionStatus.STOPPED if stopping.is_set else InteractionStatus.FINISHED)

    def _cite(self, text: str, claims: Sequence[Claim], frame: SourcesFrame) -> Cited:
        return self._parts.changes.mark(collect_citations(text, claims, frame.sources), frame.sources)

    async def _finish(self, frame: SourcesFrame | None, text: str, done: DoneFrame) -> None:
        """End the log, then tell the persister: only an ended log can be marked as stored."""
        self._log.put(encode_entry(EntryKind.END, done))
        # Where Redis stays away, readers take the rest from the store.
        with contextlib.suppress(TransientError):
            await insist(lambda: self._log.write(is_end=True), END_PATIENCE)
        await self._publish(frame, text, done)

    async def _publish(self, frame: SourcesFrame | None, text: str, done: DoneFrame) -> None:
        await self._parts.bus.publish(finished_interaction(self._plan, frame, text, done, now()))


def _refused(outcome: AppendOutcome) -> Ending:
    if outcome is AppendOutcome.STOPPED:
        return Ending(InteractionStatus.STOPPED)
    return Ending(InteractionStatus.INCOMPLETE, "the text is longer than its log may be")


def _cut_short(cut: Exception, text: str) -> Ending:
    if isinstance(cut, TimeoutError):
        return Ending(InteractionStatus.INCOMPLETE, "the time of the answer was over")
    return Ending(InteractionStatus.INCOMPLETE if text else InteractionStatus.FAILED, str(cut))


def _sources_frame(
    plan: RetrievalPlanned, found: dict[str, SegmentsFound], settings: Settings, tokens: int
) -> SourcesFrame:
    budget = Budget(settings.characters_per_kb, settings.characters, tokens, settings.max_sources)
    evidence = build_evidence([found[kb_id] for kb_id in plan.kb_ids if kb_id in found], budget)
    problems = [plan.degraded] if plan.degraded else []
    return SourcesFrame(
        question_id=plan.question_id,
        queries=plan.queries,
        sources=evidence.sources,
        legs=collect_legs(plan.kb_ids, found),
        quality=judge_quality(plan.asked, evidence.sources) if plan.kb_ids else _NOTHING_SEARCHED,
        planner=plan.planner,
        degraded="; ".join([*problems, *failed_kbs(plan.kb_ids, found)]) or None,
        excluded=evidence.excluded,
    )


def _timings(plan: RetrievalPlanned, found_at: datetime) -> dict[str, float]:
    end = now()
    return {
        "planning": milliseconds(plan.asked_at, plan.occurred_at),
        "retrieval": milliseconds(plan.occurred_at, found_at),
        "generation": milliseconds(found_at, end),
        "total": milliseconds(plan.asked_at, end),
    }
