"""The running answer in Redis: one numbered log per question, one writer at a time, any number of readers.

Per question there are a list (the log: entry n is at index n-1), a hash (owner, lease epoch, stop flag) and a
channel that only says "look". Every write is one script, so numbering, lease check and wake-up are one step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from uuid import UUID

import orjson
from redis.asyncio import Redis

from citewire.contracts.answers import EntryKind
from citewire.contracts.model import Message
from citewire.runtime.pipeline import Argument, CommandPipe, Script

# Seconds that a log lives after its end, or its deadline; later the same frames are rebuilt from the stored
# interaction.
LOG_LIFE = 900

OPEN = Script("""
local body = redis.call('HGET', KEYS[1], 'body')
if body then return {0, redis.call('HGET', KEYS[1], 'user'), body} end
redis.call('HSET', KEYS[1], 'user', ARGV[1], 'body', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {1, ARGV[1], ARGV[2]}
""")

CLAIM = Script("""
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
redis.call('HSETNX', KEYS[1], 'user', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[1])
local stop = redis.call('HGET', KEYS[1], 'stop')
return {epoch, stop and 1 or 0, redis.call('LRANGE', KEYS[2], 0, -1)}
""")

# Answers the log's new length, or a negative number that says why nothing was written.
APPEND = Script("""
local state = redis.call('HMGET', KEYS[1], 'epoch', 'stop', 'ended')
if not state[1] then return -1 end
if state[1] ~= ARGV[1] then return -2 end
if state[3] then return -4 end
if state[2] and ARGV[2] == '0' then return -3 end
if ARGV[2] == '1' then redis.call('HSET', KEYS[1], 'ended', 1) end
local length = redis.call('RPUSH', KEYS[2], unpack(ARGV, 5))
if ARGV[2] == '1' then
  redis.call('EXPIRE', KEYS[1], ARGV[3])
  redis.call('EXPIRE', KEYS[2], ARGV[3])
elseif length == #ARGV - 4 then
  redis.call('PEXPIRE', KEYS[2], redis.call('PTTL', KEYS[1]))
end
redis.call('PUBLISH', ARGV[4], length)
return length
""")

STORED = Script("""
if redis.call('HGET', KEYS[1], 'ended') ~= '1' then return 0 end
redis.call('HSET', KEYS[1], 'ended', 2)
local length = redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('PUBLISH', ARGV[2], length)
return length
""")


class AppendOutcome(Enum):
    """Why an append wrote nothing."""

    LOST = -1  # Redis no longer knows the answer
    FENCED = -2  # another worker holds the lease
    STOPPED = -3  # the client asked to stop; only the end may still be written
    ENDED = -4  # the answer has its end already


@dataclass(frozen=True)
class Lease:
    """The right to write one answer, and what earlier holders wrote."""

    question_id: UUID
    epoch: int
    is_stopped: bool
    entries: tuple[str, ...]


@dataclass(frozen=True)
class Opening:
    """Whether this call opened the log, and who opened it with which request."""

    is_new: bool
    user: str
    body_hash: str


@dataclass(frozen=True)
class AnswerState:
    """What the hash of a live answer says."""

    user: str
    is_stopped: bool
    is_ended: bool


def channel(question_id: UUID) -> str:
    """The wake-up channel of an answer."""
    return f"answer:{{{question_id}}}"


def encode_entry(kind: EntryKind, data: Message) -> str:
    """One log entry: `<kind> <json>`, the JSON safe to stand in a line of an event stream."""
    return f"{kind} {escape_lines(data.model_dump_json())}"


def encode_deltas(texts: Sequence[str]) -> list[str]:
    """The entries of deltas; the same as `encode_entry` with DeltaFrames, without building one for each of hundreds."""
    dumps = orjson.dumps
    entries = [f"delta {dumps({'text': text}).decode()}" for text in texts]
    whole = "".join(texts)
    if "\u2028" in whole or "\u2029" in whole:
        return list(map(escape_lines, entries))
    return entries


def encode_delta(text: str) -> str:
    """The entry of one delta."""
    return encode_deltas([text])[0]


def escape_lines(json: str) -> str:
    """U+2028 and U+2029 end lines for some readers; inside JSON they may stand escaped."""
    return json.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def split_entry(entry: str) -> tuple[EntryKind, str]:
    """An entry's kind and JSON."""
    kind, _, data = entry.partition(" ")
    return EntryKind(kind), data


class AnswerLog:
    """All that services do with running answers; raises TransientError when Redis is away."""

    def __init__(self, redis: Redis) -> None:
        self._pipe = CommandPipe(redis.connection_pool)

    async def open(self, question_id: UUID, user_id: str, body_hash: str) -> Opening:
        """Note who asked what, unless it is noted already."""
        is_new, user, body = await self._pipe.run_script(OPEN, [_state(question_id)], [user_id, body_hash, LOG_LIFE])
        return Opening(bool(is_new), user, body)

    async def forget(self, question_id: UUID) -> None:
        """Take an opening back: the question was not accepted after all."""
        await self._pipe.run("DEL", _state(question_id))

    async def claim(self, question_id: UUID, user_id: str, life: float) -> Lease:
        """Become the only writer; every earlier holder's next append is refused."""
        keys = [_state(question_id), _log(question_id)]
        epoch, stop, entries = await self._pipe.run_script(CLAIM, keys, [int(life) + LOG_LIFE, user_id])
        return Lease(question_id, epoch, bool(stop), tuple(entries))

    async def append(self, lease: Lease, entries: list[str], *, is_end: bool = False) -> int | AppendOutcome:
        """Write entries in order and wake the readers; the log's new length, or why nothing was written."""
        keys = [_state(lease.question_id), _log(lease.question_id)]
        arguments: list[Argument] = [lease.epoch, int(is_end), LOG_LIFE, channel(lease.question_id), *entries]
        length = await self._pipe.run_script(APPEND, keys, arguments)
        return int(length) if length > 0 else AppendOutcome(length)

    async def mark_stored(self, question_id: UUID) -> None:
        """Tell the readers that the outcome can be read back; once, and only after the end."""
        keys = [_state(question_id), _log(question_id)]
        await self._pipe.run_script(STORED, keys, [f"{EntryKind.STORED} {{}}", channel(question_id)])

    async def request_stop(self, question_id: UUID) -> None:
        """Make the writer's next append fail, whatever becomes of the message that tells it sooner."""
        if await self._pipe.run("EXISTS", _state(question_id)):
            await self._pipe.run("HSET", _state(question_id), "stop", "1")

    async def state(self, question_id: UUID) -> AnswerState | None:
        """Who owns a live answer and how far it is; None when Redis does not know it."""
        user, stop, ended = await self._pipe.run("HMGET", _state(question_id), "user", "stop", "ended")
        return None if user is None else AnswerState(str(user), stop is not None, ended is not None)

    async def length(self, question_id: UUID) -> int:
        """How many entries a log has; none when Redis does not know it."""
        return int(await self._pipe.run("LLEN", _log(question_id)))

    async def read(self, question_id: UUID, after: int) -> list[str]:
        """The entries numbered `after + 1` and up."""
        entries: list[str] = await self._pipe.run("LRANGE", _log(question_id), after, -1)
        return entries


def _state(question_id: UUID) -> str:
    return f"answer:{{{question_id}}}:state"


def _log(question_id: UUID) -> str:
    return f"answer:{{{question_id}}}:log"
