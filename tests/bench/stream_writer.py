"""Writes many answers at once at a steady pace: `python -m bench.stream_writer URL ANSWERS SECONDS RATE BATCH`.

Says `ready` once every answer has its sources, waits for a line, writes, ends all answers, and says how long it took.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import timedelta

import uvloop
from redis.asyncio import BlockingConnectionPool, Redis

from bench.stream_answers import REPLAYED_DELTAS, USER, delta_text, question_id
from citewire.contracts.answers import DoneFrame, EntryKind, SourcesFrame
from citewire.contracts.events import now
from citewire.contracts.evidence import Quality, QualityLevel
from citewire.contracts.sessions import InteractionStatus, new_session_id
from citewire.runtime.answer_log import AnswerLog, AppendOutcome, encode_delta, encode_entry
from embedded.parent import end_with_parent

# Answers are spread over so many slices of a period, and those of one slice written together.
SLICES = 10
# Entries that one append brings where time does not matter.
MAX_BATCH = 100


class Answer:
    """One answer of this process."""

    def __init__(self, log: AnswerLog, number: int) -> None:
        self._log = log
        self._number = number
        self._length = 0
        self._deltas = 0
        self.question_id = question_id(number)

    async def begin(self) -> None:
        """Open the log and write the sources."""
        deadline = now() + timedelta(hours=1)
        await self._log.open(self.question_id, USER, "", deadline)
        self._lease = await self._log.claim(self.question_id, USER, 3600)
        sources = SourcesFrame(
            question_id=self.question_id,
            queries=(),
            sources=(),
            legs=(),
            quality=Quality(level=QualityLevel.OK, reason="fine"),
        )
        await self._append([encode_entry(EntryKind.SOURCES, sources)])

    async def write(self, deltas: int) -> None:
        """Write so many deltas in one append."""
        first, self._deltas = self._deltas, self._deltas + deltas
        await self._append([encode_delta(delta_text(self._number, delta)) for delta in range(first, self._deltas)])

    async def end(self) -> None:
        """Write the end, and that it is stored."""
        done = DoneFrame(
            session_id=new_session_id(self.question_id),
            question_id=self.question_id,
            status=InteractionStatus.FINISHED,
        )
        await self._append([encode_entry(EntryKind.END, done)], is_end=True)
        await self._log.mark_stored(self.question_id, InteractionStatus.FINISHED)

    async def _append(self, entries: list[str], *, is_end: bool = False) -> None:
        length = await self._log.append(self._lease, entries, self._length, is_end=is_end)
        if isinstance(length, AppendOutcome):
            raise SystemExit(f"the log took nothing: {length.name}")
        self._length = length


async def main(url: str, answers: int, seconds: int, rate: int, batch: int) -> None:
    """Write, and print how many seconds it took."""
    redis = Redis.from_pool(BlockingConnectionPool.from_url(url, decode_responses=True, socket_timeout=None))
    log = AnswerLog(redis)
    await _write_finished(Answer(log, answers))
    live = [Answer(log, number) for number in range(answers)]
    await asyncio.gather(*(answer.begin() for answer in live))
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    started = time.monotonic()
    await _write_paced(live, periods=seconds * rate // batch, period=batch / rate, batch=batch)
    print(time.monotonic() - started, flush=True)
    await asyncio.gather(*(answer.end() for answer in live))
    await redis.aclose()


async def _write_finished(answer: Answer) -> None:
    await answer.begin()
    for _ in range(REPLAYED_DELTAS // MAX_BATCH):
        await answer.write(MAX_BATCH)
    await answer.end()


async def _write_paced(answers: Sequence[Answer], periods: int, period: float, batch: int) -> None:
    """Each answer's deltas at its time in each period; what is late is written at once, and nothing is left out."""
    slices = [answers[number::SLICES] for number in range(SLICES)]
    started = time.monotonic()
    for turn in range(periods * SLICES):
        await asyncio.sleep(started + turn * period / SLICES - time.monotonic())
        await asyncio.gather(*(answer.write(batch) for answer in slices[turn % SLICES]))


if __name__ == "__main__":
    end_with_parent()
    uvloop.run(main(sys.argv[1], *map(int, sys.argv[2:])))
