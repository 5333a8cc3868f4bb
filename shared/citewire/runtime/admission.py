"""How much one user may ask: questions per minute, and answers that run at the same time.

The rate is a token bucket in the form of the generic cell rate algorithm (ITU-T I.371): all that is kept is the time at
which the bucket would be full again. Running questions are a sorted set by their deadlines, so that one whose end
nobody saw frees its place when its time is over.
"""

import asyncio
import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from redis.asyncio import Redis

from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.errors import too_many
from citewire.runtime.pipeline import Argument, CommandPipe, Script

MINUTE_MS = 60_000
# Nobody knows when a running answer ends; most take a few seconds.
RUNNING_RETRY_AFTER = 2

_TOO_FAST, _FULL = 1, 2
# Answers {0} admitted, {1, milliseconds until the next token}, or {2, the running questions that are due first}.
ADMIT = Script("""
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return {0} end
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local places, interval, slack = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if places > 0 and redis.call('ZCARD', KEYS[1]) >= places then
  return {2, unpack(redis.call('ZRANGE', KEYS[1], 0, 999))}
end
if interval > 0 then
  local full = math.max(tonumber(redis.call('GET', KEYS[2]) or 0), now)
  if full - now > slack then return {1, math.ceil(full - now - slack)} end
  redis.call('SET', KEYS[2], string.format('%.3f', full + interval), 'PX', math.ceil(full + interval - now))
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('PEXPIREAT', KEYS[1], redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2])
return {0}
""")

RELEASE = Script("""
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return end
local full = redis.call('GET', KEYS[2])
if full then redis.call('SET', KEYS[2], string.format('%.3f', full - ARGV[2]), 'KEEPTTL') end
""")


@dataclass(frozen=True)
class Limits:
    """What one user may do: questions per minute in the long run, of which `burst` at once, and answers running at
    the same time; 0 is no limit."""

    per_minute: int = 60
    burst: int = 20
    running: int = 8

    @property
    def interval(self) -> float:
        """Milliseconds in which one more question becomes allowed."""
        return MINUTE_MS / self.per_minute if self.per_minute else 0

    @property
    def slack(self) -> float:
        """Milliseconds that a user may be ahead of the rate."""
        return self.interval * max(0, self.burst - 1)


class Admission:
    """Decides whether a user's next question may run; raises TransientError when Redis is away."""

    def __init__(self, redis: Redis, log: AnswerLog, limits: Limits) -> None:
        self._pipe = CommandPipe(redis.connection_pool)
        self._log = log
        self._limits = limits

    async def admit(self, user_id: str, question_id: UUID, deadline: datetime) -> None:
        """Count a question, once however often it is asked for; raises Refusal 429 when it is one too many."""
        if not (self._limits.per_minute or self._limits.running):
            return
        code, *rest = await self._try(user_id, question_id, deadline)
        if code == _FULL and await self._forget_ended(user_id, rest):
            code, *rest = await self._try(user_id, question_id, deadline)
        if code == _FULL:
            detail = f"You are over the limit of {self._limits.running} answers at the same time."
            raise too_many("too-many-running", detail, RUNNING_RETRY_AFTER)
        if code == _TOO_FAST:
            detail = f"You are over the limit of {self._limits.per_minute} per minute."
            raise too_many("too-many-questions", detail, math.ceil(rest[0] / 1000))

    async def release(self, user_id: str, question_id: UUID) -> None:
        """Take an admission back, its place and its token: the question was not accepted after all."""
        await self._pipe.run_script(RELEASE, _keys(user_id), [str(question_id), str(self._limits.interval)])

    async def _try(self, user_id: str, question_id: UUID, deadline: datetime) -> list[Any]:
        limits = self._limits
        until = int(deadline.timestamp() * 1000)
        arguments: list[Argument] = [
            str(question_id),
            until,
            limits.running,
            f"{limits.interval:.3f}",
            f"{limits.slack:.3f}",
        ]
        reply: list[Any] = await self._pipe.run_script(ADMIT, _keys(user_id), arguments)
        return reply

    async def _forget_ended(self, user_id: str, running: list[str]) -> bool:
        """Free the places of answers that have ended; whether there were any."""
        states = await asyncio.gather(*(self._log.state(UUID(question_id)) for question_id in running))
        # One without a log may be about to open it, so it keeps its place until its deadline.
        ended = [question_id for question_id, state in zip(running, states, strict=True) if state and state.is_ended]
        if ended:
            await self._pipe.run("ZREM", _keys(user_id)[0], *ended)
        return bool(ended)


def _keys(user_id: str) -> list[str]:
    return [f"admission:{{{user_id}}}:running", f"admission:{{{user_id}}}:rate"]
