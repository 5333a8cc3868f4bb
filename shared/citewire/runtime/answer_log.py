"""The running answer in Redis: one numbered log per question, one writer at a time, any number of readers.

Per question there are a list (the log: entry n is at index n-1), a hash (see `answer_scripts`) and a channel.
Every write is one script, so that numbering, lease check, size limit and wake-up are one step.

The wake-up carries `<number of the first new entry>` and then, when they are small, a line feed and the new entries
joined by line feeds (entries hold none). A reader that has the entry before the first need not read the list; any
other reads the list by number. The log stays the truth.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from uuid import UUID

import orjson
from redis.asyncio import Redis

from citewire.contracts.answers import EntryKind
from citewire.contracts.model import Message
from citewire.runtime.answer_scripts import APPEND, CLAIM, FORGET, OPEN, RESTORE, STOP, STORED
from citewire.runtime.pipeline import Argument, CommandPipe

# Entries that one call may read; a reader that has so many asks for more.
READ_LIMIT = 500
# Seconds that a log lives after its end, or its deadline; later the same frames are rebuilt from the stored
# interaction.
LOG_LIFE = 900


class AppendOutcome(Enum):
    """Why an append wrote nothing."""

    LOST = -1  # Redis no longer knows the answer, or a part of it; `restore` can write it anew
    FENCED = -2  # another worker holds the lease
    STOPPED = -3  # the client asked to stop; only the end may still be written
    ENDED = -4  # the answer has its end already
    FULL = -5  # the log has its greatest size; only the end may still be written


@dataclass(frozen=True)
class Lease:
    """The right to write one answer, what earlier holders wrote, and what its hash says besides."""

    question_id: UUID
    token: str
    is_stopped: bool
    entries: tuple[str, ...]
    user: str
    deadline: float  # unix seconds
    fingerprint: str = ""
    grace: str = ""


@dataclass(frozen=True)
class Opening:
    """Whether this call opened the log, who asked what in it, whether a writer has it already, and how far it is."""

    is_new: bool
    user: str
    fingerprint: str
    is_claimed: bool
    is_stopped: bool = False
    is_ended: bool = False


@dataclass(frozen=True)
class AnswerState:
    """What the hash of a live answer says; `grace` is None for an answer that no disconnect stops, `fingerprint` empty
    for one that has a writer and was never opened."""

    user: str
    is_stopped: bool
    is_ended: bool
    is_claimed: bool
    deadline: datetime
    grace: float | None
    fingerprint: str = ""


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


def new_token() -> str:
    """A token that no other claim has."""
    return secrets.token_hex(8)


def unclaimed(question_id: UUID, user_id: str, deadline: datetime, token: str) -> Lease:
    """The lease of a writer that could not reach Redis: its log is written by `restore`, if nobody holds another."""
    return Lease(question_id, token, is_stopped=False, entries=(), user=user_id, deadline=deadline.timestamp())


class AnswerLog:
    """All that services do with running answers; raises TransientError when Redis is away, late, or refuses.

    After a TransientError it is not known whether the call was executed. Every call may be repeated.
    """

    def __init__(self, redis: Redis) -> None:
        self._pipe = CommandPipe(redis.connection_pool)

    async def open(
        self, question_id: UUID, user_id: str, fingerprint: str, deadline: datetime, grace: float | None = None
    ) -> Opening:
        """Note who asked what, unless it is noted already: then nothing changes and the first is told.

        `grace`: seconds after which a disconnect stops the answer; None for never. An answer that a writer has
        without having been opened (its question came while Redis was away) takes the fingerprint given here.
        """
        life = int(max(0.0, deadline.timestamp() - _now())) + LOG_LIFE
        values: list[Argument] = [user_id, fingerprint, repr(deadline.timestamp()), _number(grace), life]
        is_new, user, noted, *marks = await self._pipe.run_script(OPEN, [_state(question_id)], values)
        return Opening(bool(is_new), user, noted, *map(bool, marks))

    async def forget(self, question_id: UUID) -> None:
        """Take an opening back, since the question was not accepted after all; one that is claimed stays."""
        await self._pipe.run_script(FORGET, [_state(question_id)], [])

    async def claim(self, question_id: UUID, user_id: str, life: float, token: str | None = None) -> Lease:
        """Become the only writer: every earlier holder's next append is refused, whatever it knows.

        `life`: seconds until the answer's deadline. `token`: the one to use again when a claim is repeated whose
        reply was lost.
        """
        token = token or new_token()
        values: list[Argument] = [token, user_id, repr(_now() + life), int(life) + LOG_LIFE]
        state, entries = await self._pipe.run_script(CLAIM, [_state(question_id), _log(question_id)], values)
        stop, user, fingerprint, deadline, grace = state
        return Lease(
            question_id, token, stop is not None, tuple(entries), user, float(deadline), fingerprint or "", grace or ""
        )

    async def append(
        self, lease: Lease, entries: Sequence[str], after: int, *, is_end: bool = False
    ) -> int | AppendOutcome:
        """Write entries after entry `after`, in order and all or none, and wake the readers.

        Answers the number of the last entry, or why nothing was written. Entries that are there already, by an
        append whose reply was lost, count as written, so that an append may be repeated, also with more entries at
        its end.
        """
        keys = [_state(lease.question_id), _log(lease.question_id)]
        values: list[Argument] = [lease.token, int(is_end), after, LOG_LIFE, channel(lease.question_id), *entries]
        length = await self._pipe.run_script(APPEND, keys, values)
        return int(length) if length > 0 else AppendOutcome(length)

    async def restore(self, lease: Lease, entries: Sequence[str]) -> bool:
        """Write a lost log anew, from its first entry, under the same lease, and wake the readers.

        False, and nothing written, when another worker holds the answer. What was noted since the loss (a stop, the
        question opened again) stays.
        """
        life = int(max(0.0, lease.deadline - _now())) + LOG_LIFE
        keys = [_state(lease.question_id), _log(lease.question_id)]
        noted = [lease.user, lease.fingerprint, repr(lease.deadline), lease.grace, "1" if lease.is_stopped else ""]
        values: list[Argument] = [lease.token, *noted, life, channel(lease.question_id), *entries]
        return bool(await self._pipe.run_script(RESTORE, keys, values))

    async def mark_stored(self, question_id: UUID, status: str) -> bool:
        """Tell the readers that the outcome can be read back and its stored status; once, and only after the end.

        False when the answer has no end yet, so that whoever knows it may write it.
        """
        entry = f"{EntryKind.STORED} {orjson.dumps({'status': status}).decode()}"
        keys = [_state(question_id), _log(question_id)]
        return int(await self._pipe.run_script(STORED, keys, [entry, channel(question_id)])) >= 0

    async def request_stop(self, question_id: UUID) -> bool:
        """Make the writer's next append fail, whatever becomes of the message that tells it sooner.

        False when Redis does not know the answer.
        """
        return bool(await self._pipe.run_script(STOP, [_state(question_id)], []))

    async def state(self, question_id: UUID) -> AnswerState | None:
        """Who owns a live answer and how far it is; None when Redis does not know it."""
        user, stop, ended, lease, deadline, grace, fingerprint = await self._pipe.run(
            "HMGET", _state(question_id), "user", "stop", "ended", "lease", "deadline", "grace", "fingerprint"
        )
        if user is None:
            return None
        return AnswerState(
            str(user),
            is_stopped=stop is not None,
            is_ended=ended is not None,
            is_claimed=lease is not None,
            deadline=datetime.fromtimestamp(float(deadline), UTC),
            grace=None if grace is None else float(grace),
            fingerprint=fingerprint or "",
        )

    async def read(self, question_id: UUID, after: int, limit: int = READ_LIMIT) -> list[str]:
        """The entries numbered `after + 1` and up, at most `limit` of them."""
        entries: list[str] = await self._pipe.run("LRANGE", _log(question_id), after, after + limit - 1)
        return entries


def _state(question_id: UUID) -> str:
    return f"answer:{{{question_id}}}:state"


def _log(question_id: UUID) -> str:
    return f"answer:{{{question_id}}}:log"


def _now() -> float:
    return datetime.now(UTC).timestamp()


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)
