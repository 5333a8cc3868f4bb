"""Answers on a real Redis and NATS, with a writer and a gatherer that the test scripts."""

import asyncio
import time
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis

from answer_stage import (
    QUESTION,
    SEGMENTS,
    DyingWriter,
    HangingGatherer,
    ScriptedGatherer,
    ScriptedWriter,
    answering,
    end_of,
    entries,
    kinds,
    lose_log,
    outcome_of,
    published,
    text_in,
)
from builders import found, planned, segment
from citewire.contracts.answers import SourcesFrame
from citewire.contracts.events import (
    DocumentIndexed,
    DocumentRemoved,
    SegmentsFound,
    now,
)
from citewire.contracts.evidence import SourceState
from citewire.contracts.sessions import InteractionStatus
from citewire.contracts.streams import SEGMENTS as SEGMENTS_STREAM
from citewire.runtime.answer_log import AnswerLog, encode_delta
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError
from generator import gather
from generator.changes import DocumentChanges
from generator.extractive import ExtractiveWriter
from generator.gather import Gatherer
from waiting import until, until_found


@pytest.fixture
async def gatherer(bus: Bus) -> AsyncGenerator[Gatherer]:
    async with Gatherer(bus).listening() as gatherer:
        yield gatherer


async def test_sources_come_before_the_text_and_the_end_last(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    await answering(bus, answer_log, ScriptedWriter("a", "b")).answer(plan)

    assert await kinds(answer_log, plan) == ["sources", "delta", "delta", "end"]
    assert (await end_of(answer_log, plan)).status is InteractionStatus.FINISHED


async def test_the_outcome_holds_exactly_what_was_streamed(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    await answering(bus, answer_log, ExtractiveWriter()).answer(plan)

    interaction = await outcome_of(bus, plan)
    sources = SourcesFrame.model_validate_json((await entries(answer_log, plan))[0][1])
    end = await end_of(answer_log, plan)
    assert interaction.model_response.content == await text_in(answer_log, plan)
    assert interaction.sources == sources.sources
    assert interaction.model_response.citations == end.citations
    assert interaction.status is end.status is InteractionStatus.FINISHED


@pytest.mark.parametrize(
    ("event", "version", "state"),
    [
        (DocumentRemoved, 0, SourceState.REMOVED),
        (DocumentIndexed, 1, SourceState.CHANGED),
        (DocumentIndexed, 0, SourceState.CURRENT),
    ],
)
async def test_d05_a_citation_says_what_became_of_its_document_while_the_answer_was_written(
    bus: Bus,
    answer_log: AnswerLog,
    event: type[DocumentRemoved | DocumentIndexed],
    version: int,
    state: SourceState,
) -> None:
    plan, segment = planned(QUESTION, "kb"), SEGMENTS[0]
    happened = event(kb_id=segment.kb_id, doc_id=segment.doc_id, version=segment.version + version)

    class LateWriter(ExtractiveWriter):
        """Its document changes after the sources were sent."""

        async def write(self, *values: Any) -> AsyncGenerator[str]:
            await bus.publish(happened)
            await until(lambda: len(changes._changed) == 1)
            async for piece in super().write(*values):
                yield piece

    async with DocumentChanges().listening(bus.client) as changes:
        await answering(bus, answer_log, LateWriter(), changes=changes).answer(plan)

    citations = (await end_of(answer_log, plan)).citations
    assert state in {citation.state for citation in citations if citation.doc_id == segment.doc_id}
    assert (await outcome_of(bus, plan)).model_response.citations == citations


async def test_two_hundred_pieces_take_few_calls_of_redis(bus: Bus, answer_log: AnswerLog, redis: Redis) -> None:
    plan = planned(QUESTION, "kb")
    pieces = [f"{number} " for number in range(200)]
    await redis.config_resetstat()

    await answering(bus, answer_log, ScriptedWriter(*pieces)).answer(plan)

    calls = (await redis.info("commandstats"))["cmdstat_evalsha"]["calls"]
    assert calls < 40
    assert await text_in(answer_log, plan) == "".join(pieces)


async def test_very_many_pieces_at_once_are_written_whole(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    class Instant:
        async def write(self, *_: object) -> AsyncGenerator[str]:
            for _piece in range(20_000):
                yield "x"

    await answering(bus, answer_log, Instant()).answer(plan)

    assert await text_in(answer_log, plan) == "x" * 20_000


async def test_the_first_piece_does_not_wait_for_the_window(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    async def until_written() -> None:
        async def is_written() -> bool:
            return await text_in(answer_log, plan) == "first"

        await until_found(is_written)

    writer = ScriptedWriter("first", until_written)
    await answering(bus, answer_log, writer, write_window=60).answer(plan)

    assert (await end_of(answer_log, plan)).status is InteractionStatus.FINISHED


@pytest.mark.parametrize("pieces", [0, 1, 2])
async def test_a_second_worker_goes_on_exactly_where_the_text_stopped(
    bus: Bus, answer_log: AnswerLog, pieces: int
) -> None:
    undisturbed, plan = planned(QUESTION, "kb"), planned(QUESTION, "kb")
    await answering(bus, answer_log, ExtractiveWriter()).answer(undisturbed)
    with pytest.raises(TransientError):
        await answering(bus, answer_log, DyingWriter(pieces)).answer(plan)
    before = await entries(answer_log, plan)

    await answering(bus, answer_log, ExtractiveWriter()).answer(plan)

    assert len(before) == 1 + pieces
    assert (await entries(answer_log, plan))[: len(before)] == before
    assert await kinds(answer_log, plan) == await kinds(answer_log, undisturbed)
    assert await text_in(answer_log, plan) == await text_in(answer_log, undisturbed)
    assert (await end_of(answer_log, plan)).citations == (await end_of(answer_log, undisturbed)).citations


async def test_the_sources_of_the_first_worker_stay_the_sources(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")
    with pytest.raises(TransientError):
        await answering(bus, answer_log, DyingWriter(1)).answer(plan)

    changed = ScriptedGatherer(found(plan.question_id, "kb", segment("Something else.")))
    await answering(bus, answer_log, ExtractiveWriter(), changed).answer(plan)

    assert [source.text for source in (await outcome_of(bus, plan)).sources] == [s.text for s in SEGMENTS]


async def test_an_ended_answer_is_published_and_nothing_appended(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    class DiesBeforePublishing(Bus):
        async def publish(self, *_: object) -> None:
            raise TransientError("the worker dies here")

    with pytest.raises(TransientError):
        await answering(DiesBeforePublishing(bus.client, bus.js), answer_log, ExtractiveWriter()).answer(plan)
    before = await entries(answer_log, plan)

    await answering(bus, answer_log, ScriptedWriter("other text")).answer(plan)

    assert await entries(answer_log, plan) == before
    interaction = await outcome_of(bus, plan)
    assert interaction.model_response.content == await text_in(answer_log, plan)
    assert interaction.model_response.citations == (await end_of(answer_log, plan)).citations


async def test_a_worker_that_lost_its_lease_publishes_nothing(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    async def take_over() -> None:
        await answer_log.claim(plan.question_id, "u", 60)

    await answering(bus, answer_log, ScriptedWriter("a", take_over, "b", "c")).answer(plan)

    assert "end" not in await kinds(answer_log, plan)
    assert await published(bus) == 0


async def test_a_worker_that_loses_its_lease_after_the_last_piece_publishes_nothing(
    bus: Bus, answer_log: AnswerLog
) -> None:
    plan = planned(QUESTION, "kb")

    async def take_over() -> None:
        await answer_log.claim(plan.question_id, "u", 60)

    await answering(bus, answer_log, ScriptedWriter(take_over)).answer(plan)

    assert await kinds(answer_log, plan) == ["sources"]
    assert await published(bus) == 0


async def test_two_workers_at_once_leave_one_answer(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    await asyncio.gather(*(answering(bus, answer_log, ExtractiveWriter()).answer(plan) for _ in range(4)))

    assert (await kinds(answer_log, plan)).count("end") == 1
    assert (await outcome_of(bus, plan)).model_response.content == await text_in(answer_log, plan)
    assert await published(bus) == 1


async def test_b07_a_stop_before_the_answer_begins_is_kept(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")
    await answer_log.open(plan.question_id, "u", "print", plan.deadline)
    await answer_log.request_stop(plan.question_id)

    await answering(bus, answer_log, ScriptedWriter("never")).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert (interaction.status, interaction.model_response.content) == (InteractionStatus.STOPPED, "")
    assert "delta" not in await kinds(answer_log, plan)


async def test_b07_a_stop_while_gathering_ends_the_answer(bus: Bus, answer_log: AnswerLog) -> None:
    plan, gatherer = planned(QUESTION, "kb"), HangingGatherer()
    worker = answering(bus, answer_log, ScriptedWriter("never"), gatherer)
    running = asyncio.create_task(worker.answer(plan))
    await gatherer.is_asked.wait()

    worker.stop(plan.asker, plan.question_id)
    await running

    assert (await outcome_of(bus, plan)).status is InteractionStatus.STOPPED


async def test_b07_b08_a_stop_in_the_middle_closes_the_writer_and_keeps_the_text(
    bus: Bus, answer_log: AnswerLog
) -> None:
    plan, writer = planned(QUESTION, "kb"), ScriptedWriter("Hello", " wor", asyncio.Event().wait, "ld")
    worker = answering(bus, answer_log, writer)
    running = asyncio.create_task(worker.answer(plan))

    async def is_written() -> bool:
        return await text_in(answer_log, plan) == "Hello wor"

    await until_found(is_written)
    worker.stop(plan.asker, plan.question_id)
    await asyncio.wait_for(running, 1)

    interaction = await outcome_of(bus, plan)
    assert writer.is_closed
    assert (interaction.status, interaction.model_response.content) == (InteractionStatus.STOPPED, "Hello wor")
    assert interaction.user_input.content == QUESTION
    assert (await end_of(answer_log, plan)).status is InteractionStatus.STOPPED


async def test_b08_a_stopped_answer_keeps_its_citations_so_far(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")
    worker = answering(bus, answer_log, ScriptedWriter("Revenue grew [1]. ", asyncio.Event().wait))
    running = asyncio.create_task(worker.answer(plan))

    async def is_written() -> bool:
        return bool(await text_in(answer_log, plan))

    await until_found(is_written)
    worker.stop(plan.asker, plan.question_id)
    await running

    citations = (await outcome_of(bus, plan)).model_response.citations
    assert [citation.number for citation in citations] == [1]


async def test_b07_a_stop_whose_message_is_lost_is_seen_at_the_next_piece(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")

    async def request_stop() -> None:
        async def is_written() -> bool:
            return await text_in(answer_log, plan) == "a"

        await until_found(is_written)
        await answer_log.request_stop(plan.question_id)

    writer = ScriptedWriter("a", request_stop, "b", *("c" for _ in range(1000)))
    await answering(bus, answer_log, writer, write_window=0.0).answer(plan)

    interaction = await outcome_of(bus, plan)
    text = interaction.model_response.content
    assert interaction.status is InteractionStatus.STOPPED
    assert "abc".startswith(text[:3])
    assert len(text) < 1000
    assert text == await text_in(answer_log, plan)


async def test_an_answer_whose_time_is_over_is_incomplete(bus: Bus, answer_log: AnswerLog) -> None:
    plan, writer = planned(QUESTION, "kb", seconds=2), ScriptedWriter("so far", asyncio.Event().wait)

    await answering(bus, answer_log, writer).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert (interaction.status, interaction.model_response.content) == (InteractionStatus.INCOMPLETE, "so far")
    assert writer.is_closed
    assert now() < plan.deadline


async def test_a_plan_that_is_late_already_is_incomplete(bus: Bus, answer_log: AnswerLog, gatherer: Gatherer) -> None:
    plan = planned(QUESTION, "kb", seconds=-1)

    await answering(bus, answer_log, ScriptedWriter("never"), gatherer).answer(plan)

    assert (await outcome_of(bus, plan)).status is InteractionStatus.INCOMPLETE


async def test_an_answer_whose_log_redis_loses_goes_on_in_a_log_made_anew(
    bus: Bus, answer_log: AnswerLog, redis: Redis
) -> None:
    plan = planned(QUESTION, "kb")

    async def lose() -> None:
        async def is_written() -> bool:
            return await text_in(answer_log, plan) == "before"

        await until_found(is_written)
        await lose_log(redis, plan)

    await answering(bus, answer_log, ScriptedWriter("before", lose, " and after [1]")).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert interaction.model_response.content == "before and after [1]"
    assert interaction.status is InteractionStatus.FINISHED
    assert len(interaction.sources) == len(SEGMENTS)
    assert await kinds(answer_log, plan) == ["sources", "delta", "delta", "end"]
    assert await text_in(answer_log, plan) == "before and after [1]"


async def test_b11_an_answer_given_up_is_incomplete_and_keeps_its_text(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")
    worker = answering(bus, answer_log, DyingWriter(1))
    with pytest.raises(TransientError):
        await worker.answer(plan)

    await worker.give_up(plan, "TransientError: away")

    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.INCOMPLETE
    assert interaction.degraded == "answering failed: TransientError: away"
    assert interaction.model_response.content == await text_in(answer_log, plan) != ""
    assert await kinds(answer_log, plan) == ["sources", "delta", "end"]


async def test_giving_up_an_ended_answer_keeps_its_end(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "kb")
    worker = answering(bus, answer_log, ScriptedWriter("a"))
    await worker.answer(plan)

    await worker.give_up(plan, "too late")

    assert (await outcome_of(bus, plan)).status is InteractionStatus.FINISHED
    assert await kinds(answer_log, plan) == ["sources", "delta", "end"]


async def test_b15_a_missing_and_a_failed_knowledge_base_are_named(bus: Bus, answer_log: AnswerLog) -> None:
    plan = planned(QUESTION, "a", "b", "c")
    results = (
        found(plan.question_id, "a", *SEGMENTS),
        found(plan.question_id, "b", error="the index is broken"),
    )

    await answering(bus, answer_log, ExtractiveWriter(), ScriptedGatherer(*results)).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.FINISHED
    assert interaction.degraded == "b: the index is broken; c: no answer in time"
    assert [(leg.kb_id, leg.error) for leg in interaction.legs] == [
        ("a", None),
        ("b", "the index is broken"),
        ("c", "no answer in time"),
    ]
    assert interaction.sources != ()


async def test_results_from_before_the_subscription_are_found(bus: Bus) -> None:
    question_id = uuid4()
    for kb_id in ("a", "b"):
        await bus.publish(found(question_id, kb_id, segment(f"in {kb_id}", kb_id=kb_id)))

    async with Gatherer(bus).listening() as gatherer:
        results = await gatherer.gather(question_id, ["a", "b"], now() + timedelta(seconds=20))

    assert {kb_id: result.segments[0].text for kb_id, result in results.items()} == {"a": "in a", "b": "in b"}


async def test_a03_results_that_come_before_their_plan_need_no_look_at_the_stream(bus: Bus, gatherer: Gatherer) -> None:
    question_id = uuid4()
    await bus.publish(found(question_id, "a"))
    await bus.client.flush()
    await bus.js.purge_stream(SEGMENTS_STREAM)

    results = await gatherer.gather(question_id, ["a"], now() + timedelta(seconds=20))

    assert sorted(results) == ["a"]


async def test_early_results_are_bounded_and_the_stream_still_has_them(
    bus: Bus, gatherer: Gatherer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "EARLY_BYTES", 5000)
    questions = [uuid4() for _ in range(40)]
    for question_id in questions:
        await bus.publish(found(question_id, "a", segment("x" * 100)))
    await bus.client.flush()
    kept = sum(len(payload) for payloads in gatherer._early._payloads.values() for payload in payloads)

    results = await gatherer.gather(questions[0], ["a"], now() + timedelta(seconds=20))

    assert 0 < kept <= 5000
    assert sorted(results) == ["a"]


async def gathering(
    gatherer: Gatherer, question_id: UUID, kb_ids: list[str]
) -> "asyncio.Task[dict[str, SegmentsFound]]":
    """A gathering that waits."""
    deadline = now() + timedelta(seconds=20)
    task = asyncio.create_task(gatherer.gather(question_id, kb_ids, deadline))
    await until(lambda: str(question_id) in gatherer._gathering)
    return task


async def test_the_first_result_of_a_knowledge_base_counts_and_others_are_ignored(bus: Bus, gatherer: Gatherer) -> None:
    question_id = uuid4()
    task = await gathering(gatherer, question_id, ["a", "b"])

    for text in ("first", "second"):
        result = found(question_id, "a", segment(text))
        await bus.publish_raw(result.full_subject, result.model_dump_json().encode(), str(uuid4()))
    await bus.publish(found(question_id, "foreign", segment("not asked for")))
    await bus.publish(found(question_id, "b"))
    results = await task

    assert sorted(results) == ["a", "b"]
    assert results["a"].segments[0].text == "first"


async def test_an_unreadable_result_is_ignored(bus: Bus, gatherer: Gatherer) -> None:
    question_id = uuid4()
    task = await gathering(gatherer, question_id, ["a"])

    await bus.publish_raw(f"{SegmentsFound.subject}.{question_id}.a", b"{bad json", str(uuid4()))
    await bus.publish_raw(
        f"{SegmentsFound.subject}.{question_id}.a", found(question_id, "a").model_dump_json().encode(), str(uuid4())
    )

    assert sorted(await task) == ["a"]


async def test_gathering_ends_at_its_deadline_without_the_missing(bus: Bus, gatherer: Gatherer) -> None:
    question_id = uuid4()
    await bus.publish(found(question_id, "a"))

    results = await gatherer.gather(question_id, ["a", "missing"], now() + timedelta(seconds=1))

    assert sorted(results) == ["a"]


async def test_a_knowledge_base_is_not_waited_for_beyond_its_own_limit(bus: Bus, gatherer: Gatherer) -> None:
    question_id, started = uuid4(), time.monotonic()
    await bus.publish(found(question_id, "a"))
    limits = {"slow": now() + timedelta(seconds=0.1)}

    results = await gatherer.gather(question_id, ["a", "slow"], now() + timedelta(seconds=20), limits)

    assert sorted(results) == ["a"]
    assert time.monotonic() - started < 10


async def test_a_result_that_the_stream_has_counts_also_after_its_limit(bus: Bus) -> None:
    question_id = uuid4()
    await bus.publish(found(question_id, "fast"))
    limits = {"fast": now() - timedelta(seconds=5)}

    async with Gatherer(bus).listening() as gatherer:
        results = await gatherer.gather(question_id, ["fast"], now() + timedelta(seconds=20), limits)

    assert sorted(results) == ["fast"]


async def test_j05_gathering_leaves_no_subscription_behind(bus: Bus, gatherer: Gatherer) -> None:
    before = len(bus.client._subs)

    await gatherer.gather(uuid4(), ["missing"], now() + timedelta(seconds=0.05))

    assert len(bus.client._subs) == before


async def test_a_take_over_of_a_half_written_log_repeats_no_text(bus: Bus, answer_log: AnswerLog) -> None:
    undisturbed, plan = planned(QUESTION, "kb"), planned(QUESTION, "kb")
    await answering(bus, answer_log, ExtractiveWriter()).answer(undisturbed)
    text = await text_in(answer_log, undisturbed)
    with pytest.raises(TransientError):
        await answering(bus, answer_log, DyingWriter(0)).answer(plan)
    lease = await answer_log.claim(plan.question_id, "u", 60)
    await answer_log.append(lease, [encode_delta(text[:3]), encode_delta(text[3:30])], 1)

    await answering(bus, answer_log, ExtractiveWriter()).answer(plan)

    assert await text_in(answer_log, plan) == text
    assert (await outcome_of(bus, plan)).model_response.content == text
