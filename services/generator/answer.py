"""One answer from plan to end: gather, evidence, text, citations, outcome; resumed where a dead worker stopped."""

import contextlib
from collections.abc import AsyncIterator, Generator, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from citewire.contracts.answers import DoneFrame, EntryKind, SourcesFrame
from citewire.contracts.events import RetrievalPlanned, SegmentsFound, now
from citewire.contracts.evidence import Source
from citewire.contracts.sessions import InteractionStatus
from citewire.runtime.answer_log import AnswerLog, AppendOutcome, Lease, encode_entry
from citewire.runtime.bus import Bus, seconds_left
from generator.changes import DocumentChanges
from generator.citations.collect import Cited, Claim, collect_citations
from generator.evidence import Budget, build_evidence, collect_legs, failed_kbs, judge_quality
from generator.outcome import done_frame, finished_interaction, milliseconds
from generator.resume import read_written
from generator.settings import Settings
from generator.stopping import Stopped, Stopping
from generator.write import TextWriter, WriteRefused

# Seconds kept back from an answer's time for its end: citations, log, outcome.
END_RESERVE = 0.5


class Gathers(Protocol):
    """Waits for what the knowledge bases of a question found."""

    async def gather(self, question_id: UUID, kb_ids: Sequence[str], until: datetime) -> dict[str, SegmentsFound]:
        """Results by knowledge base, those that came before `until`."""


class Writes(Protocol):
    """Makes the text of an answer."""

    def write(self, plan: RetrievalPlanned, sources: Sequence[Source], claims: list[Claim]) -> AsyncIterator[str]:
        """The pieces of the text as they come; what they quote is added to `claims`."""


class Answering:
    """Answers questions; one object serves all of a process."""

    def __init__(  # noqa: PLR0913, PLR0917 - one part each
        self,
        bus: Bus,
        log: AnswerLog,
        gatherer: Gathers,
        writer: Writes,
        changes: DocumentChanges,
        settings: Settings,
    ) -> None:
        self._bus = bus
        self._log = log
        self._gatherer = gatherer
        self._writer = writer
        self._changes = changes
        self._settings = settings
        self._running: dict[UUID, Stopping] = {}

    def stop(self, question_id: UUID) -> None:
        """Stop an answer that runs here; others are none of our business."""
        if (stopping := self._running.get(question_id)) is not None:
            stopping.set()

    async def answer(self, plan: RetrievalPlanned) -> None:
        """Answer one question, whatever an earlier worker has done of it already."""
        lease = await self._log.claim(plan.question_id, plan.user.user_id, seconds_left(plan.deadline))
        with self._stoppable(lease) as stopping, contextlib.suppress(_TakenOver):
            await self._answer(plan, lease, stopping)

    async def give_up(self, plan: RetrievalPlanned, reason: str) -> None:
        """End a question that could not be answered, keeping what was written of it."""
        lease = await self._log.claim(plan.question_id, plan.user.user_id, seconds_left(plan.deadline))
        written = read_written(lease.entries)
        failed_plan = plan.model_copy(update={"degraded": f"answering failed: {reason}"})
        done = written.done or done_frame(
            failed_plan, None, InteractionStatus.FAILED, Cited((), ()), {"total": milliseconds(plan.asked_at, now())}
        )
        with contextlib.suppress(_TakenOver):
            await self._finish(plan, lease, written.sources, written.text, done)

    async def _answer(self, plan: RetrievalPlanned, lease: Lease, stopping: Stopping) -> None:
        written = read_written(lease.entries)
        if written.done is not None:
            await self._finish(plan, lease, written.sources, written.text, written.done)
            return
        frame = written.sources or await self._find_sources(plan, lease, stopping)
        found_at = now()
        text = TextWriter(self._log, lease, written.text, self._settings.write_window)
        claims: list[Claim] = []
        status = await self._write(plan, frame, text, claims, stopping)
        cited = self._changes.mark(collect_citations(text.whole, claims, frame.sources), frame.sources)
        done = done_frame(plan, frame, status, cited, _timings(plan, found_at))
        await self._finish(plan, lease, frame, text.whole, done, rest=text.rest)

    async def _find_sources(self, plan: RetrievalPlanned, lease: Lease, stopping: Stopping) -> SourcesFrame:
        settings = self._settings
        wait = min(seconds_left(plan.deadline) * settings.gather_share, settings.gather_limit)
        until, found = now() + timedelta(seconds=wait), {}
        with contextlib.suppress(Stopped):
            async with stopping.interrupting():
                found = await self._gatherer.gather(plan.question_id, plan.kb_ids, until)
        budget = Budget(settings.characters_per_kb, settings.characters, settings.tokens, settings.max_sources)
        frame = _sources_frame(plan, found, budget)
        _check(await self._log.append(lease, [encode_entry(EntryKind.SOURCES, frame)]), stopping)
        return frame

    async def _write(
        self,
        plan: RetrievalPlanned,
        frame: SourcesFrame,
        text: TextWriter,
        claims: list[Claim],
        stopping: Stopping,
    ) -> InteractionStatus:
        """Write the text until it ends, the client stops it, or its time is over."""
        try:
            async with stopping.interrupting(max(0.0, seconds_left(plan.deadline) - END_RESERVE)):
                await text.write_all(self._writer.write(plan, frame.sources, claims))
        except TimeoutError:
            return InteractionStatus.INCOMPLETE
        except Stopped:
            return InteractionStatus.STOPPED
        except WriteRefused as refused:
            _check(refused.outcome, stopping)
        return InteractionStatus.STOPPED if stopping.is_set else InteractionStatus.FINISHED

    async def _finish(  # noqa: PLR0913 - what an outcome is made of
        self,
        plan: RetrievalPlanned,
        lease: Lease,
        frame: SourcesFrame | None,
        text: str,
        done: DoneFrame,
        *,
        rest: Sequence[str] = (),
    ) -> None:
        """End the log, then tell the persister: only an ended log can be marked as stored."""
        outcome = await self._log.append(lease, [*rest, encode_entry(EntryKind.END, done)], is_end=True)
        if outcome is AppendOutcome.FENCED:
            raise _TakenOver
        await self._bus.publish(finished_interaction(plan, frame, text, done, now()))

    @contextlib.contextmanager
    def _stoppable(self, lease: Lease) -> Generator[Stopping]:
        stopping = self._running[lease.question_id] = Stopping()
        if lease.is_stopped:
            stopping.set()
        try:
            yield stopping
        finally:
            self._running.pop(lease.question_id, None)


class _TakenOver(Exception):  # noqa: N818 - somebody else's work now, not a fault
    """Another worker holds the answer."""


def _check(outcome: int | AppendOutcome, stopping: Stopping) -> None:
    """A log that was lost takes nothing, and the answer goes on without it; an ended one is somebody else's."""
    if outcome is AppendOutcome.STOPPED:
        stopping.set()
    elif outcome in {AppendOutcome.FENCED, AppendOutcome.ENDED}:
        raise _TakenOver


def _sources_frame(plan: RetrievalPlanned, found: dict[str, SegmentsFound], budget: Budget) -> SourcesFrame:
    evidence = build_evidence([found[kb_id] for kb_id in plan.kb_ids if kb_id in found], budget)
    problems = [plan.degraded] if plan.degraded else []
    return SourcesFrame(
        question_id=plan.question_id,
        queries=plan.queries,
        sources=evidence.sources,
        legs=collect_legs(plan.kb_ids, found),
        quality=judge_quality(plan.question, evidence.sources),
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
