"""What must hold at the end: one outcome per accepted question, one text everywhere, nothing stuck, nothing crashed."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg
import orjson
from nats.js import JetStreamContext
from nats.js.api import ConsumerInfo
from redis.asyncio import Redis

from chaos.cluster import Cluster
from chaos.faults import POISON
from chaos.load import Asked, Load
from chaos.report import Report
from chaos.tap import Tap
from citewire.contracts.answers import DoneFrame, EntryKind
from citewire.contracts.sessions import Interaction, InteractionStatus
from citewire.contracts.streams import DEAD_LETTERS
from citewire.runtime.answer_log import AnswerLog, split_entry
from citewire.runtime.provision import CONSUMERS
from generator.extractive import write_extract
from waiting import until_found

# The longest window of an unacknowledged message is 60 s, and only documents have it.
SETTLED_LIMIT = 45.0
# Streams that were cut are noticed within so many seconds.
QUIET_LIMIT = 20.0
# Every so many questions, one is read again from the start.
SAMPLE = 5
# Of all answers, at least so many are whole: a service that fails everything keeps its other promises easily.
FINISHED_SHARE = 0.8

# The reason of a message all of whose deliveries ended with their workers.
WORN_OUT = "every earlier try ended without a word"

_STORED = """
select questions.question_id, questions.problem, interactions.status, interactions.answer, interactions.record
from conversations.questions full join conversations.interactions using (question_id)
"""


@dataclass(frozen=True)
class Stored:
    """A question on record: its outcome, or the problem that it was rejected for."""

    status: str | None
    text: str | None
    record: str | None
    problem: str | None


async def check(cluster: Cluster, load: Load, tap: Tap, report: Report) -> None:
    """Add to the report whatever does not hold."""
    report.asked = load.accepted
    report.violations += [violation async for violation in _check_idle(tap.js)]
    stored = await _stored(cluster.servers.postgres.url, load.accepted)
    async with Redis.from_url(cluster.servers.redis.url, decode_responses=True) as redis:
        log = AnswerLog(redis)
        for asked in load.accepted:
            faults = [*asked.faults, *_check_stored(asked, stored), *await _check_log(asked, log)]
            report.violations += [f"{asked.id}: {fault}" for fault in faults]
        report.violations += await _check_again(load)
        report.violations += await _check_subscriptions(redis)
    report.violations += [*_check_whole(load, stored), *_check_workers(cluster)]
    await _check_dead_letters(tap.js, report)


async def _stored(url: str, accepted: Sequence[Asked]) -> Mapping[UUID, Stored]:
    """All that is on record, once every accepted question has ended there or the time is over."""
    connection = await asyncpg.connect(url)
    deadline = time.monotonic() + SETTLED_LIMIT
    try:
        while True:
            rows = await connection.fetch(_STORED)
            stored = {
                row["question_id"]: Stored(row["status"], row["answer"], row["record"], row["problem"]) for row in rows
            }
            ended = {key for key, row in stored.items() if row.status or row.problem}
            if all(asked.id in ended for asked in accepted) or time.monotonic() > deadline:
                return stored
            await asyncio.sleep(0.2)
    finally:
        await connection.close()


def _check_stored(asked: Asked, stored: Mapping[UUID, Stored]) -> list[str]:
    row = stored.get(asked.id) if asked.id else None
    if row is None or not (row.status or row.problem):
        return [f"no outcome on record, the client was told {asked.status or 'nothing'}"]
    if not asked.end:
        return [f"the client was never told of its end, {row.status or 'rejected'}"]
    faults = []
    if (row.status or "failed") != asked.status:
        faults.append(f"stored as {row.status}, told as {asked.status}")
    if (row.text or "") != asked.text:
        faults.append(_difference("stored", row.text or "", asked.text))
    if row.record:
        faults += _check_written(Interaction.model_validate_json(row.record))
    return faults


def _check_written(interaction: Interaction) -> list[str]:
    """The text is the one that its sources give, or, of an answer that was cut short, its beginning."""
    if interaction.status is InteractionStatus.FAILED:
        return []
    queries = interaction.search_queries
    context = queries[0].context if queries else ()
    pieces = write_extract(interaction.user_input.content, context, interaction.sources)
    right, text = "".join(piece.text for piece in pieces), interaction.model_response.content
    is_right = text == right if interaction.status is InteractionStatus.FINISHED else right.startswith(text)
    return [] if is_right else [_difference(f"{interaction.status} text", text, right)]


async def _check_log(asked: Asked, log: AnswerLog) -> list[str]:
    """The log, if it is still there, says what the client has read."""
    entries = [split_entry(entry) for entry in await log.read(asked.id, 0)] if asked.id else []
    if not entries:
        return []
    kinds = [kind for kind, _ in entries]
    faults = []
    if kinds.count(EntryKind.END) != 1 or kinds.count(EntryKind.STORED) > 1:
        faults.append(f"log of {len(kinds)} entries ends with {[str(kind) for kind in kinds[-3:]]}")
    text = "".join(orjson.loads(data)["text"] for kind, data in entries if kind is EntryKind.DELTA)
    if text != asked.text:
        faults.append(_difference("log", text, asked.text))
    ends = [DoneFrame.model_validate_json(data).status for kind, data in entries if kind is EntryKind.END]
    if asked.status and ends and ends[0] != asked.status:
        faults.append(f"log ends as {ends[0]}, told as {asked.status}")
    return faults


async def _check_again(load: Load) -> list[str]:
    """Who comes later reads the same."""
    sample = load.accepted[::SAMPLE]
    later = await asyncio.gather(*(load.read_again(asked, index % 2) for index, asked in enumerate(sample)))
    return [
        f"{asked.id}: read again as {again.status or again.faults}: {_difference('later', again.text, asked.text)}"
        for asked, again in zip(sample, later, strict=True)
        if (again.text, again.status) != (asked.text, asked.status)
    ]


async def _check_subscriptions(redis: Redis) -> list[str]:
    """Once all have read to the end, the gateways listen to no answer any more."""

    async def is_quiet() -> bool:
        return len(await redis.pubsub_channels("answer:{*")) == 0

    try:
        await until_found(is_quiet, QUIET_LIMIT)
    except TimeoutError:
        return [f"subscriptions are left: {await redis.pubsub_channels()}"]
    return []


def _check_whole(load: Load, stored: Mapping[UUID, Stored]) -> list[str]:
    finished = sum(asked.status == "finished" for asked in load.accepted)
    if finished < FINISHED_SHARE * len(load.accepted):
        return [f"only {finished} of {len(load.accepted)} answers are whole"]
    strangers = set(stored) - {asked.id for asked in load.accepted}
    return [f"{question_id} is on record, and nobody asked it" for question_id in strangers]


def _check_workers(cluster: Cluster) -> list[str]:
    workers = cluster.workers.values()
    crashed = [f"{worker.name} ended {worker.crashes} times by itself" for worker in workers if worker.crashes]
    return crashed + [f"{worker.name} does not run" for worker in workers if not worker.is_running]


async def _check_idle(js: JetStreamContext) -> AsyncIterator[str]:
    """Every consumer has done all that there was."""
    for spec in CONSUMERS:
        deadline = time.monotonic() + SETTLED_LIMIT
        info = await js.consumer_info(spec.stream, spec.durable)
        while _open(info) and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
            info = await js.consumer_info(spec.stream, spec.durable)
        if _open(info):
            yield f"{spec.durable} is stuck: {info.num_pending} pending, {info.num_ack_pending} unacknowledged"


def _open(info: ConsumerInfo) -> int:
    return (info.num_pending or 0) + (info.num_ack_pending or 0)


async def _check_dead_letters(js: JetStreamContext, report: Report) -> None:
    """What was set aside is the suite's own poison, or killed every worker that it met, as kills at random do."""
    state = (await js.stream_info(DEAD_LETTERS)).state
    for sequence in range(state.first_seq, state.last_seq + 1) if state.messages else ():
        letter = await js.get_msg(DEAD_LETTERS, sequence)
        headers = letter.headers or {}
        reason = f"set aside: {headers.get('Citewire-Subject')}: {headers.get('Citewire-Reason')}"
        if WORN_OUT in reason:
            report.remarks.append(reason)
        elif POISON not in (letter.data or b""):
            report.violations.append(reason)


def _difference(name: str, found: str, expected: str) -> str:
    common = next(
        (index for index, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b),
        min(len(found), len(expected)),
    )
    around = slice(max(0, common - 20), common + 20)
    return (
        f"{name} has {len(found)} characters in place of {len(expected)}, "
        f"different from {common} on: {found[around]!r} for {expected[around]!r}"
    )
