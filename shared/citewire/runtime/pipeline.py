"""Redis commands of many tasks over one connection: what one loop turn asks for goes out in one write.

redis-py makes the connection and speaks the protocol; its own client takes a connection, a write and a read for each
command, which costs several times as much. Replies come in the order of the commands, so a queue of futures is all
that pairs them.
"""

import asyncio
import contextlib
import hashlib
import math
from collections import deque
from typing import Any

import hiredis
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError, ResponseError

from citewire.runtime.errors import TransientError

# Seconds after which a command is given up, and with it the connection: the replies behind it are as late.
COMMAND_TIMEOUT = 5.0

Argument = str | int | bytes


class Script:
    """A Lua script, called by its digest."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class CommandPipe:
    """Runs commands; raises TransientError when Redis is away, late, or refuses.

    A command whose connection breaks is not sent again: whether it was executed is not known. The next one connects
    anew. The connection belongs to the pool and ends with it.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._link: _Link | None = None
        self._connecting = asyncio.Lock()

    async def run(self, *command: Argument) -> Any:
        """The reply to a command."""
        try:
            return await self._send(command)
        except (RedisError, OSError) as error:
            raise _away(error) from error

    async def run_script(self, script: Script, keys: list[str], arguments: list[Argument]) -> Any:
        """The reply of a script, which Redis is taught when it does not know it."""
        parameters = (len(keys), *keys, *arguments)
        try:
            return await self._send(("EVALSHA", script.digest, *parameters))
        except NoScriptError:
            return await self.run("EVAL", script.text, *parameters)
        except (RedisError, OSError) as error:
            raise _away(error) from error

    async def _send(self, command: tuple[Argument, ...]) -> Any:
        link = self._link
        if link is None or not link.is_open:
            link = await self._connect()
        return await link.send(command)

    async def _connect(self) -> "_Link":
        async with asyncio.timeout(COMMAND_TIMEOUT), self._connecting:
            # Somebody else may have connected while this one waited for its turn.
            if self._link is None or not self._link.is_open:
                self._link = _Link(self._pool, await self._pool.get_connection())  # type: ignore[no-untyped-call] # redis-py
            return self._link


class _Link:
    """One connection, from its first command until it breaks."""

    def __init__(self, pool: ConnectionPool, connection: AbstractConnection) -> None:
        self._pool = pool
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._unsent: list[bytes] = []
        self._has_unsent = asyncio.Event()
        # What Redis has not answered, oldest first, with the time at which each is late.
        self._unanswered: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._watch: asyncio.TimerHandle | None = None
        self.is_open = True
        self._serving = asyncio.create_task(self._serve())

    def send(self, command: tuple[Argument, ...]) -> "asyncio.Future[Any]":
        """The reply to come; a caller that no longer waits only leaves it unread."""
        self._unsent.append(hiredis.pack_command(command))  # type: ignore[arg-type] # its stub says one element
        self._has_unsent.set()
        reply = self._loop.create_future()
        late = self._loop.time() + COMMAND_TIMEOUT
        self._unanswered.append((reply, late))
        if self._watch is None:
            self._watch = self._loop.call_at(late, self._check)
        return reply

    def _check(self) -> None:
        """Give the connection up once the oldest command is late."""
        self._watch = None
        if not self._unanswered:
            return
        late = self._unanswered[0][1]
        if late > self._loop.time():
            self._watch = self._loop.call_at(late, self._check)
        else:
            self._close(TimeoutError(f"no reply within {COMMAND_TIMEOUT} s"))
            self._serving.cancel()

    async def _serve(self) -> None:
        writing = asyncio.create_task(self._write())
        try:
            await self._read()
        except (RedisError, OSError) as error:
            self._close(error)
        finally:
            self._close(RedisConnectionError("connection closed"))
            writing.cancel()
            with contextlib.suppress(RedisError, OSError):
                await self._connection.disconnect(nowait=True)
            await self._pool.release(self._connection)

    async def _write(self) -> None:
        # A write that fails disconnects, and so ends the reading, which sees to the rest.
        with contextlib.suppress(RedisError, OSError):
            while True:
                await self._has_unsent.wait()
                self._has_unsent.clear()
                packed, self._unsent = self._unsent, []
                await self._connection.send_packed_command(packed, check_health=False)

    async def _read(self) -> None:
        while True:
            try:
                answer = await self._connection.read_response(timeout=math.inf, disconnect_on_error=False)
            except ResponseError as error:
                self._settle(None, error)
            else:
                self._settle(answer, None)

    def _settle(self, answer: Any, error: ResponseError | None) -> None:
        reply, _ = self._unanswered.popleft()
        if reply.done():
            return
        if error is None:
            reply.set_result(answer)
        else:
            reply.set_exception(error)

    def _close(self, error: Exception) -> None:
        """Take no more commands, and fail those without a reply."""
        self.is_open = False
        if self._watch is not None:
            self._watch.cancel()
        while self._unanswered:
            reply, _ = self._unanswered.popleft()
            if not reply.done():
                reply.set_exception(error)


def _away(error: Exception) -> TransientError:
    return TransientError(f"Redis: {str(error) or type(error).__name__}")
