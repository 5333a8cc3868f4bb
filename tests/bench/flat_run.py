"""The same chain with more of one thing: CPU per question in turns with less of it, within one run."""

import argparse
import asyncio
import statistics
import sys
from collections.abc import Mapping, Sequence
from itertools import cycle

import asyncpg
import httpx
import uvloop

from bench.cpu import cpu_seconds
from bench.layouts import Chain, running_chain
from bench.stand_ins import KBS
from citewire.runtime.settings import ROLES

BAR = 1.1
CONCURRENCY = 8
# Deltas of an answer: what one more costs between the first two, and between the last two.
LENGTHS = (50, 525, 1000)
TURNS = 50
SESSIONS = 16
# Short answers, so that all turns of a session fit into the history of a question.
SHORT = 3

# As if so many had been asked before: copies of one outcome, each with a question and a session of its own.
_FILL = """
with copy as (
    select gen_random_uuid() as question_id, gen_random_uuid() as session_id from generate_series(1, $1)
), session as (
    insert into conversations.sessions (session_id, user_id, title, params, supp_id, created_at, updated_at)
    select copy.session_id, user_id, title, params, supp_id, created_at, updated_at
    from copy, (select * from conversations.sessions limit 1) as one
), question as (
    insert into conversations.questions (question_id, asker, user_id, identity, session_id, kb_ids, question, asked_at,
        deadline, is_settled, fingerprint)
    select copy.question_id, one.asker, one.user_id, one.identity, copy.session_id, one.kb_ids, one.question,
        one.asked_at, one.deadline, true, one.fingerprint
    from copy, (select * from conversations.questions limit 1) as one
    returning question_id, session_id, sequence
)
insert into conversations.interactions
    (question_id, session_id, user_id, asked_at, status, question, answer, record, sequence)
select question.question_id, question.session_id, one.user_id, one.asked_at, one.status, one.question, one.answer,
    one.record, question.sequence
from question, (select * from conversations.interactions limit 1) as one
"""


class Asker:
    """Asks a chain, and knows what that cost."""

    def __init__(self, chain: Chain, client: httpx.AsyncClient) -> None:
        self._chain = chain
        self._client = client

    async def cost(self, questions: int, deltas: int, sessions: Sequence[str | None] = (None,)) -> float:
        """CPU milliseconds per question, of all processes but this one."""
        turns = cycle(sessions)
        before = cpu_seconds(self._chain.groups)
        await self.ask([(deltas, next(turns)) for _ in range(questions)])
        after = cpu_seconds(self._chain.groups)
        return sum(after[name] - before[name] for name in after) * 1000 / questions

    async def ask(self, questions: Sequence[tuple[int, str | None]]) -> list[str]:
        """Ask for answers of so many deltas in these sessions, None for new ones; the sessions that they are in."""
        permits = asyncio.Semaphore(CONCURRENCY)

        async def ask_one(deltas: int, session: str | None) -> str:
            async with permits:
                return await self._ask(deltas, session)

        return await asyncio.gather(*(ask_one(*question) for question in questions))

    async def create_sessions(self, number: int) -> list[str]:
        """So many sessions without any turn."""
        body = {"title": "empty", "params": {"kb_ids": KBS}}
        responses = [await self._client.post("/v1/sessions", json=body) for _ in range(number)]
        return [response.raise_for_status().json()["session_id"] for response in responses]

    async def _ask(self, deltas: int, session: str | None) -> str:
        scope = {"kb_ids": KBS} if session is None else {"session_id": session}
        body = {"question": f"What do the {deltas} pieces say of the revenue?"} | scope
        response = await self._client.post("/v1/questions", json=body)
        assert response.status_code == 200, response.text
        assert response.text.count("event: delta") == deltas, response.text[-500:]
        assert '"persisted":true' in response.text, response.text[-500:]
        found: str = response.text.rpartition('"session_id":"')[2].partition('"')[0]
        return found


async def measure(rounds: int, questions: int, stored: int) -> Mapping[str, float]:
    """Ratios by what grew."""
    async with running_chain({"services": ["bench.flat_roles", *ROLES]}) as chain:
        headers = {"Authorization": f"Bearer {chain.key}"}
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{chain.port}", headers=headers, timeout=60) as client:
            asker = Asker(chain, client)
            await asker.cost(100, LENGTHS[0])
            return {
                "a delta, from 50 to 1,000 of them": await _deltas(asker, rounds, questions),
                f"a question, from 0 to {TURNS} earlier turns": await _turns(asker, rounds, questions),
                f"a question, from 0 to {stored} stored ones": await _stored(asker, chain, rounds, questions, stored),
            }


async def _deltas(asker: Asker, rounds: int, questions: int) -> float:
    costs = [[await asker.cost(questions, deltas) for deltas in LENGTHS] for _ in range(rounds)]
    few, more, many = (statistics.median(column) for column in zip(*costs, strict=True))
    first, last = (more - few) / (LENGTHS[1] - LENGTHS[0]), (many - more) / (LENGTHS[2] - LENGTHS[1])
    print(f"one more delta: {first * 1000:.1f} µs among the first, {last * 1000:.1f} µs among the last", flush=True)
    return float(last / first)


async def _turns(asker: Asker, rounds: int, questions: int) -> float:
    sessions = await asker.ask([(SHORT, None)] * SESSIONS)
    for _ in range(TURNS - 1):
        await asker.ask([(SHORT, session) for session in sessions])
    costs = []
    for _ in range(rounds):
        empty = await asker.create_sessions(questions)
        costs.append((await asker.cost(questions, SHORT, empty), await asker.cost(questions, SHORT, sessions)))
    return _ratio("in an empty session, after some 50 turns", costs)


async def _stored(asker: Asker, chain: Chain, rounds: int, questions: int, stored: int) -> float:
    before = [await asker.cost(questions, SHORT) for _ in range(rounds)]
    connection = await asyncpg.connect(chain.postgres_url)
    await connection.execute(_FILL, stored)
    await connection.execute("vacuum analyze")
    await connection.close()
    await asker.cost(questions, SHORT)
    after = [await asker.cost(questions, SHORT) for _ in range(rounds)]
    return _ratio(f"before and after {stored} others", list(zip(before, after, strict=True)))


def _ratio(name: str, costs: Sequence[tuple[float, float]]) -> float:
    less, more = (statistics.median(column) for column in zip(*costs, strict=True))
    print(f"a question {name}: {less:.2f} and {more:.2f} ms of CPU", flush=True)
    return float(more / less)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Do costs stay flat as answers, sessions and records grow?")
    parser.add_argument("--rounds", type=int, default=7, help="of each measurement; the median counts")
    parser.add_argument("--questions", type=int, default=24, help="per measurement")
    parser.add_argument("--stored", type=int, default=20_000, help="interactions put on record")
    options = parser.parse_args()
    ratios = uvloop.run(measure(options.rounds, options.questions, options.stored))
    for name, ratio in ratios.items():
        print(f"{name}: x {ratio:.2f}, bar {BAR}")
    sys.exit(int(any(ratio > BAR for ratio in ratios.values())))
