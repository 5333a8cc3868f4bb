"""The persister's stores and stages on a real Postgres and Redis."""

from collections.abc import AsyncGenerator, Iterator
from uuid import uuid4

import asyncpg
import psycopg
import pytest
from redis.asyncio import Redis

from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.database import Database, open_database
from citewire.runtime.migrations import apply_migrations
from conversations import Connection
from embedded.servers import ServerUrls
from persister.answer_ends import AnswerEnds
from persister.app import MIGRATIONS
from persister.handlers import Archivist, Recorder
from persister.session_store import SessionStore
from persister.settings import Settings
from persister.store import OutcomeStore
from persister.sweep import Sweeper
from restartable import free_port


@pytest.fixture(scope="module")
def migrated(servers: ServerUrls) -> Iterator[str]:
    """One database for all tests here: making one takes longer than a test does."""
    name = f"conversations_{uuid4().hex}"
    dsn = servers.postgres.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(servers.postgres, autocommit=True) as admin:
        admin.execute(f'create database "{name}"')
        apply_migrations(dsn, "conversations", MIGRATIONS)
        yield dsn
        admin.execute(f'drop database "{name}" with (force)')


@pytest.fixture
async def pool(migrated: str) -> AsyncGenerator[Database]:
    """A database without any conversations."""
    async with open_database(migrated) as pool:
        await pool.execute("delete from conversations.sessions")
        await pool.execute("delete from conversations.questions")
        yield pool


@pytest.fixture
def store(pool: Database) -> OutcomeStore:
    return OutcomeStore(pool)


@pytest.fixture
def sessions(pool: Database) -> SessionStore:
    return SessionStore(pool)


@pytest.fixture
async def connection(migrated: str, pool: Database) -> AsyncGenerator[Connection]:
    """Another view on the store's database."""
    connection = await asyncpg.connect(migrated)
    yield connection
    await connection.close()


@pytest.fixture
def archivist(sessions: SessionStore, store: OutcomeStore) -> Archivist:
    return Archivist(sessions, store)


@pytest.fixture
def ends(answer_log: AnswerLog) -> AnswerEnds:
    return AnswerEnds(answer_log)


@pytest.fixture
def recorder(store: OutcomeStore, ends: AnswerEnds) -> Recorder:
    return Recorder(store, ends, ("web",))


@pytest.fixture
async def lost_ends() -> AsyncGenerator[AnswerEnds]:
    """The same, on a Redis that is away."""
    redis = Redis.from_url(f"redis://127.0.0.1:{free_port()}/0", decode_responses=True)
    yield AnswerEnds(AnswerLog(redis))
    await redis.aclose()


@pytest.fixture
def sweeper(bus: Bus, store: OutcomeStore, ends: AnswerEnds) -> Sweeper:
    return Sweeper(bus, store, ends, Settings(sweep_grace=10))
