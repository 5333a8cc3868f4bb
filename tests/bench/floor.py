"""The floor: the chain's hops by nats-py, redis-py, asyncpg and bare ASGI alone, in one process.

Same streams, consumer limits, message counts and sizes, scripts and statements as the services; none of their
validation, identity, retries, leases checked by code, or resumption. Consumers are push consumers whose callbacks
start a task for each message, and one plain subscription takes the results of all questions: the cheapest that nats-py
has at this size.
"""

import asyncio
import contextlib
import os
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import asyncpg
import nats
import uvicorn
import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig
from redis.asyncio import Redis
from starlette.types import Receive, Scope, Send
from uuid_utils.compat import uuid7

import persister.app
from bench.floor_messages import about, make_messages, question_id
from bench.stand_ins import DELTAS, KBS, QUESTION
from citewire.contracts.knowledge import DEFAULT_POOL
from citewire.runtime.answer_log import LOG_LIFE
from citewire.runtime.answer_scripts import APPEND, CLAIM, OPEN, STORED
from citewire.runtime.migrations import migrate
from citewire.runtime.pipeline import Script
from citewire.runtime.provision import ANSWERER, AUDITOR, PLANNER, SEARCHER, STORER, ConsumerSpec, provision
from citewire.runtime.settings import RuntimeSettings
from embedded.parent import end_with_parent
from persister.store import _RECORD_QUESTION, _STORE_OUTCOME

if TYPE_CHECKING:
    Pool = asyncpg.Pool[asyncpg.Record]

USER = "bench"
IDENTITY = '{"user_id":"bench","groups":[],"role":"user"}'


class Floor:
    """All stages; each takes a message and sends what comes next."""

    def __init__(self, client: Client, redis: Redis, pool: "Pool") -> None:
        self._client = client
        self._js: JetStreamContext = client.jetstream()
        self._redis = redis
        self._pool = pool
        self._messages = make_messages()
        self._pubsub = redis.pubsub(ignore_subscribe_messages=True)
        self._news: dict[str, asyncio.Event] = {}
        self._results: defaultdict[str, list[bytes]] = defaultdict(list)
        self._gathering: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._tasks: set[asyncio.Task[None]] = set()

    async def consume(self, spec: ConsumerSpec, stage: Callable[[str], Awaitable[None]]) -> None:
        """Bind a stage to a push consumer in place of the pull consumer of the same name."""

        async def start(message: Msg) -> None:
            task = asyncio.create_task(handle(message))
            self._tasks.add(task)
            task.add_done_callback(self._end)

        async def handle(message: Msg) -> None:
            await stage(question_id(message.data) if spec is not SEARCHER else _request_of(message))
            await message.ack()

        await self._js.delete_consumer(spec.stream, spec.durable)
        config = ConsumerConfig(
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=spec.ack_wait.total_seconds(),
            max_ack_pending=spec.workers,
        )
        await self._js.subscribe(
            spec.subject, queue=spec.durable, stream=spec.stream, cb=start, manual_ack=True, config=config
        )

    def _end(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        task.result()

    async def listen(self) -> None:
        """Wake the readers of answers."""
        await self._pubsub.subscribe("idle")
        while True:
            message = await self._pubsub.get_message(timeout=5)
            if message and (news := self._news.get(message["channel"])):
                news.set()

    async def plan(self, question: str) -> None:
        messages = self._messages
        await asyncio.gather(
            self._publish("qa.v1.retrieval.planned", messages.plan, question),
            *(
                self._publish(f"qa.v1.retrieval.requested.{DEFAULT_POOL}.{kb_id}", payload, question, kb_id)
                for kb_id, payload in messages.requests.items()
            ),
        )

    async def search(self, request: str) -> None:
        question, kb_id = request.split("/")
        await self._publish(f"qa.v1.segments.found.{question}.{kb_id}", self._messages.results[kb_id], question, kb_id)

    async def answer(self, question: str) -> None:
        await self._script(CLAIM, [_state(question), _log(question)], [question, USER, "0", LOG_LIFE])
        await self._gathering[question].wait()
        del self._gathering[question], self._results[question]
        messages = self._messages
        await self._append(question, "0", 0, about(messages.sources.encode(), question).decode())
        await self._append(question, "1", 1, *messages.deltas, about(messages.end.encode(), question).decode())
        await self._publish("qa.v1.interaction.finished.web", messages.outcome, question)

    async def take_result(self, message: Msg) -> None:
        """Keep a result, also one that comes before its question's plan."""
        question = question_id(message.data)
        self._results[question].append(message.data)
        if len(self._results[question]) == len(KBS):
            self._gathering[question].set()

    async def record(self, question: str) -> None:
        at = datetime.now(UTC)
        deadline = at + timedelta(hours=1)
        kbs = '["finance","contracts","handbook"]'
        asker = (UUID(question), "web", USER, IDENTITY)
        await self._pool.execute(_RECORD_QUESTION, *asker, None, kbs, None, QUESTION, at, deadline, "f" * 64)

    async def store(self, question: str) -> None:
        now, number = datetime.now(UTC), UUID(question)
        session = (number, True, USER, '{"kb_ids":[]}', QUESTION, "", number, now, now)
        record = about(self._messages.record.encode(), question).decode()
        citations = ([1], [KBS[0]], [number], [3], ["[]"])
        text = "x" * sum(map(len, self._messages.deltas))
        outcome = ("finished", QUESTION, text, record, *citations, "web", IDENTITY, now)
        await self._pool.execute(_STORE_OUTCOME, *session, *outcome)
        await self._script(
            STORED, [_state(question), _log(question)], ['stored {"status":"finished"}', _channel(question)]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The gateway, as a bare ASGI application."""
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        question = str(uuid7())
        await self._script(OPEN, [_state(question)], [USER, "f", "0", "", LOG_LIFE])
        await self._publish("qa.v1.question.asked.web", self._messages.question, question)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        async for body in self._read(question):
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _read(self, question: str) -> AsyncIterator[bytes]:
        channel, read = _channel(question), 0
        news = self._news[channel] = asyncio.Event()
        await self._pubsub.subscribe(channel)
        while read < DELTAS + 3:
            news.clear()
            entries = [str(entry) for entry in await self._redis.lrange(_log(question), read, -1)]
            if frames := _frames(entries, read):
                yield frames
            read += len(entries)
            if not entries:
                await news.wait()
        yield _frame(DELTAS + 2, about(self._messages.end.encode(), question).decode().replace("end", "done", 1))
        del self._news[channel]
        await self._pubsub.unsubscribe(channel)

    async def _append(self, question: str, is_end: str, after: int, *entries: str) -> None:
        values = [question, is_end, after, LOG_LIFE, _channel(question), *entries]
        await self._script(APPEND, [_state(question), _log(question)], values)

    async def _script(self, script: Script, keys: list[str], values: list[Any]) -> Any:
        return await self._redis.evalsha(script.digest, len(keys), *keys, *values)

    async def _publish(self, subject: str, payload: bytes, question: str, kb_id: str = "") -> None:
        headers = {"Nats-Msg-Id": f"{question}{kb_id}"}
        await self._js.publish(subject, about(payload, question), timeout=5, headers=headers)


def _request_of(message: Msg) -> str:
    return f"{question_id(message.data)}/{message.subject.rpartition('.')[2]}"


def _frames(entries: list[str], read: int) -> bytes:
    kept = (entry for entry in entries if not entry.startswith(("end ", "stored ")))
    return b"".join(_frame(number, entry) for number, entry in enumerate(kept, start=read + 1))


def _frame(number: int, entry: str) -> bytes:
    kind, _, data = entry.partition(" ")
    return f"id: {number}\nevent: {kind}\ndata: {data}\n\n".encode()


def _state(question: str) -> str:
    return f"answer:{{{question}}}:state"


def _log(question: str) -> str:
    return f"answer:{{{question}}}:log"


def _channel(question: str) -> str:
    return f"answer:{{{question}}}"


async def _keep(_: Any) -> None:
    """Return a connection to its pool as it is: by default that costs a statement, and nothing here needs it."""


@contextlib.asynccontextmanager
async def running_floor() -> AsyncGenerator[Floor]:
    """Connect, bind every stage, and wake readers until the block ends."""
    settings, dsn = RuntimeSettings(), os.environ["CITEWIRE_POSTGRES_URL"]
    await migrate(dsn, "conversations", Path(persister.app.__file__).parent / "migrations")
    client = await nats.connect(settings.nats_url)
    await provision(client.jetstream(), max_replicas=1)
    redis = Redis.from_url(settings.redis_url, decode_responses=True, socket_timeout=None)
    for script in (OPEN, CLAIM, APPEND, STORED):
        await redis.script_load(script.text)
    async with asyncpg.create_pool(dsn, min_size=1, max_size=8, reset=_keep) as pool:
        floor = Floor(client, redis, pool)
        stages = {PLANNER: floor.plan, AUDITOR: floor.record, SEARCHER: floor.search}
        for spec, stage in {**stages, ANSWERER: floor.answer, STORER: floor.store}.items():
            await floor.consume(spec, stage)
        await client.subscribe("qa.v1.segments.found.*.*", cb=floor.take_result)
        listening = asyncio.create_task(floor.listen())
        yield floor
        listening.cancel()
        await redis.aclose()
        await client.close()


async def main() -> None:
    """Serve until the process is told to end."""
    async with running_floor() as floor:
        port = int(os.environ["CITEWIRE_GATEWAY_PORT"])
        config = uvicorn.Config(
            floor, port=port, log_config=None, access_log=False, server_header=False, lifespan="off"
        )
        config.timeout_graceful_shutdown = 1
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        print("ready", flush=True)
        await serving


if __name__ == "__main__":
    end_with_parent()
    uvloop.run(main())
