"""The connection pool, and Postgres' failures in our own words."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from typing import TYPE_CHECKING, Any

import asyncpg

from citewire.runtime.errors import PermanentError, TransientError

if TYPE_CHECKING:
    Record = asyncpg.Record
    Connection = asyncpg.pool.PoolConnectionProxy[Record]
    Pool = asyncpg.Pool[Record]

# What a later try can survive: a server that is away, restarts, is full, or chose this transaction as a victim.
_AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    # A server that became read-only in a failover.
    asyncpg.InvalidTransactionStateError,
)
# What no later try can change: values that Postgres does not take.
_WRONG = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)
# Seconds after which a statement is given up; storing a long document takes a few.
_STATEMENT_TIMEOUT = 60.0
_INDEX_TIMEOUT = 6 * 3600.0


@contextlib.contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except _AWAY as error:
        raise TransientError(f"Postgres: {str(error) or type(error).__name__}") from error
    except _WRONG as error:
        raise PermanentError(f"Postgres: {error}") from error


class Database:
    """Runs statements; raises TransientError when a later try can succeed, PermanentError when none can."""

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool

    async def execute(self, statement: str, *values: Any) -> None:
        """Run a statement whose result does not matter."""
        with _translated():
            await self._pool.execute(statement, *values)

    async def execute_alone(self, statement: str, settings: Mapping[str, str]) -> None:
        """Run a statement that allows no transaction and may take hours, such as building an index, with settings."""
        with _translated():
            async with self._pool.acquire(timeout=_STATEMENT_TIMEOUT) as connection:
                for name, value in settings.items():
                    await connection.execute("SELECT set_config($1, $2, false)", name, value)
                try:
                    await connection.execute(statement, timeout=_INDEX_TIMEOUT)
                finally:
                    for name in settings:
                        await connection.execute(f"RESET {name}")

    @contextlib.asynccontextmanager
    async def only_one(self, key: str) -> AsyncGenerator[bool]:
        """Whether no other process holds this key; if so, it is held until the block ends or the process dies."""
        with _translated():
            async with self._pool.acquire(timeout=_STATEMENT_TIMEOUT) as connection:
                held = await connection.fetchval("SELECT pg_try_advisory_lock(hashtextextended($1, 0))", key)
                try:
                    yield held
                finally:
                    if held:
                        await connection.execute("SELECT pg_advisory_unlock(hashtextextended($1, 0))", key)

    async def rows(self, statement: str, *values: Any) -> "list[Record]":
        """Every row of the result."""
        with _translated():
            return await self._pool.fetch(statement, *values)

    async def row(self, statement: str, *values: Any) -> "Record | None":
        """The first row, if any."""
        with _translated():
            return await self._pool.fetchrow(statement, *values)

    @contextlib.asynccontextmanager
    async def transaction(self) -> "AsyncGenerator[Connection]":
        """A connection on which all happens or nothing."""
        with _translated():
            async with self._pool.acquire() as connection, connection.transaction():
                yield connection


async def _keep_session(_: "asyncpg.Connection[Record]") -> None:
    """No statement leaves anything behind in its session: a reset after each would be a round trip for nothing."""


@contextlib.asynccontextmanager
async def open_database(
    dsn: str,
    prepare: Callable[[Any], Coroutine[Any, Any, None]] | None = None,
    settings: Mapping[str, str] | None = None,
) -> AsyncGenerator[Database]:
    """A pool for as long as the block lasts; `prepare` is called with, and `settings` hold for, each connection."""
    async with asyncpg.create_pool(
        dsn,
        min_size=1,
        max_size=10,
        command_timeout=_STATEMENT_TIMEOUT,
        reset=_keep_session,
        init=prepare,
        server_settings=dict(settings or {}),
    ) as pool:
        yield Database(pool)
