"""Migrations on a real Postgres: forward, twice, two at once, back with data, and after a kill."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

import persister.app
import retriever.app
from citewire.runtime.migrations import migrate, roll_back
from waiting import until_found

CONVERSATION_ROWS = """
insert into conversations.sessions values (gen_random_uuid(), 'u', 'title', '{}', '', now(), now());
insert into conversations.interactions
    select gen_random_uuid(), session_id, 'u', now(), 'finished', 'question', 'answer', '{}', now(), 1
    from conversations.sessions;
insert into conversations.citations
    select question_id, 1, 'kb', gen_random_uuid(), null, '[]' from conversations.interactions;
insert into conversations.questions
    select question_id, 'web', 'u', '{}', session_id, '[]', 'question', now(), now()
    from conversations.interactions;
"""

KNOWLEDGE_ROWS = """
insert into knowledge.kbs (kb_id, title, description, language) values ('kb', 'title', '', 'en');
insert into knowledge.documents (kb_uid, file_name, title, newest, upload, status)
    select kb_uid, 'a.txt', 'a', 1, 'upload', 'indexed' from knowledge.kbs;
insert into knowledge.versions select doc_id, 1, 'text', '' from knowledge.documents;
insert into knowledge.pages select doc_id, 1, 1, null, 0, 4 from knowledge.documents;
insert into knowledge.chunks
    (doc_id, version, ordinal, start_at, end_at, section, header, pages, text, parent_first, parent_last)
    select doc_id, 1, 0, 0, 4, '', '', '[]', 'text', 0, 0 from knowledge.documents;
insert into knowledge.spaces (kb_uid, embedder, model, dimension) select kb_uid, 'e5', 'e5', 3 from knowledge.kbs;
insert into knowledge.embedded select space_id, doc_id, 1, 1 from knowledge.spaces, knowledge.documents;
create table knowledge.vectors_1 (chunk_id bigint primary key, doc_id uuid not null, vector halfvec(3) not null);
"""

TABLES = """
select table_name::text as name, format('%I.%I', table_schema, table_name)::regclass::oid as oid
from information_schema.tables where table_schema = $1 and table_name not like '%yoyo%'
"""

ADVISORY_LOCKS = """
select count(*) from pg_locks
where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
"""


@dataclass(frozen=True)
class Owner:
    """A service with a schema of its own."""

    schema: str
    folder: Path
    rows: str
    tables: frozenset[str]

    async def migrate(self, dsn: str) -> None:
        await migrate(dsn, self.schema, self.folder)

    async def roll_back(self, dsn: str) -> None:
        await asyncio.to_thread(roll_back, dsn, self.schema, self.folder)


OWNERS = (
    Owner(
        "conversations",
        persister.app.MIGRATIONS,
        CONVERSATION_ROWS,
        frozenset({"sessions", "questions", "interactions", "citations"}),
    ),
    Owner(
        "knowledge",
        retriever.app.MIGRATIONS,
        KNOWLEDGE_ROWS,
        frozenset({"kbs", "documents", "versions", "pages", "chunks", "spaces", "embedded"}),
    ),
)

# The migrator that is killed: `dsn schema folder`.
MIGRATOR = """
import sys
from pathlib import Path
from citewire.runtime.migrations import apply_migrations
apply_migrations(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
"""


@pytest.fixture(params=OWNERS, ids=lambda owner: owner.schema)
def owner(request: pytest.FixtureRequest) -> Owner:
    found = request.param
    assert isinstance(found, Owner)
    return found


@pytest.fixture
async def connection(database: str) -> AsyncGenerator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


async def tables_of(connection: "asyncpg.Connection[asyncpg.Record]", schema: str) -> dict[str, int]:
    return {row["name"]: row["oid"] for row in await connection.fetch(TABLES, schema)}


async def counts_of(connection: "asyncpg.Connection[asyncpg.Record]", owner: Owner) -> dict[str, int]:
    return {
        table: await connection.fetchval(f'select count(*) from {owner.schema}."{table}"')  # noqa: S608 - our names
        for table in owner.tables
    }


async def test_an_empty_database_gets_the_whole_schema(
    database: str, connection: "asyncpg.Connection[asyncpg.Record]", owner: Owner
) -> None:
    await owner.migrate(database)

    assert set(await tables_of(connection, owner.schema)) == owner.tables


async def test_a_second_run_changes_nothing(
    database: str, connection: "asyncpg.Connection[asyncpg.Record]", owner: Owner
) -> None:
    await owner.migrate(database)
    await connection.execute(owner.rows)
    tables, rows = await tables_of(connection, owner.schema), await counts_of(connection, owner)

    await owner.migrate(database)

    assert await tables_of(connection, owner.schema) == tables
    assert await counts_of(connection, owner) == rows
    assert set(rows.values()) == {1}


async def test_two_processes_that_start_at_once_both_succeed(
    database: str, connection: "asyncpg.Connection[asyncpg.Record]", owner: Owner
) -> None:
    await asyncio.gather(owner.migrate(database), owner.migrate(database))

    assert set(await tables_of(connection, owner.schema)) == owner.tables


async def test_both_owners_share_a_database_without_meeting(
    database: str, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await asyncio.gather(*(owner.migrate(database) for owner in OWNERS))

    for owner in OWNERS:
        assert set(await tables_of(connection, owner.schema)) == owner.tables
    assert await tables_of(connection, "public") == {}


async def test_rolling_back_with_data_leaves_an_empty_schema(
    database: str, connection: "asyncpg.Connection[asyncpg.Record]", owner: Owner
) -> None:
    await owner.migrate(database)
    await connection.execute(owner.rows)

    await owner.roll_back(database)

    assert await tables_of(connection, owner.schema) == {}


async def test_forward_works_again_after_rolling_back(
    database: str, connection: "asyncpg.Connection[asyncpg.Record]", owner: Owner
) -> None:
    await owner.migrate(database)
    await connection.execute(owner.rows)
    await owner.roll_back(database)

    await owner.migrate(database)

    assert await counts_of(connection, owner) == dict.fromkeys(owner.tables, 0)


UNORDERED_ROWS = """
insert into conversations.sessions values (gen_random_uuid(), 'u', 'title', '{}', '', now(), now());
insert into conversations.interactions
    (question_id, session_id, user_id, asked_at, status, question, answer, record)
    select gen_random_uuid(), session_id, 'u', now() - n * interval '1 minute', 'finished', n::text, 'answer', '{}'
    from conversations.sessions, generate_series(1, 3) as n;
insert into conversations.questions
    select question_id, 'web', 'u', '{}', session_id, '[]', question, asked_at, asked_at
    from conversations.interactions where question <> '2';
"""


async def test_conversations_from_before_there_was_an_order_get_that_of_their_times(
    database: str, connection: "asyncpg.Connection[asyncpg.Record]", tmp_path: Path
) -> None:
    first = "0001_conversations.sql"
    (tmp_path / first).write_text((persister.app.MIGRATIONS / first).read_text(encoding="utf-8"), encoding="utf-8")
    await migrate(database, "conversations", tmp_path)
    await connection.execute(UNORDERED_ROWS)

    await migrate(database, "conversations", persister.app.MIGRATIONS)

    rows = await connection.fetch("select question from conversations.interactions order by sequence")
    assert [row["question"] for row in rows] == ["3", "2", "1"]
    assert await is_true(connection, "select bool_and(is_settled) and count(*) = 3 from conversations.questions")


async def test_a_migrator_that_is_killed_leaves_no_lock(
    database: str, connection: "asyncpg.Connection[asyncpg.Record]", owner: Owner, tmp_path: Path
) -> None:
    (tmp_path / "0001_endless.sql").write_text("select pg_sleep(600);", encoding="ascii")
    migrator = await asyncio.create_subprocess_exec(
        sys.executable, "-c", MIGRATOR, database, owner.schema, str(tmp_path)
    )
    sleeping = "select count(*) from pg_stat_activity where query like 'select pg_sleep(600)%' and state = 'active'"
    await until_found(lambda: is_true(connection, f"select ({sleeping}) = 1 and ({ADVISORY_LOCKS}) = 1"), 20)

    migrator.kill()
    await migrator.wait()

    await asyncio.wait_for(owner.migrate(database), 5)
    assert set(await tables_of(connection, owner.schema)) == owner.tables
    await until_found(lambda: is_true(connection, f"select ({ADVISORY_LOCKS}) = 0"))


async def test_the_lock_row_of_a_migrator_killed_in_its_very_first_run_is_no_obstacle(
    database: str, connection: "asyncpg.Connection[asyncpg.Record]", owner: Owner
) -> None:
    await connection.execute(f"create schema {owner.schema}")
    await connection.execute(
        f"create table {owner.schema}.yoyo_lock (locked int default 1 primary key, ctime timestamp, pid int not null)"
    )
    await connection.execute(f"insert into {owner.schema}.yoyo_lock values (1, now(), 1)")  # noqa: S608 - our name

    await asyncio.wait_for(owner.migrate(database), 5)

    assert set(await tables_of(connection, owner.schema)) == owner.tables


async def is_true(connection: "asyncpg.Connection[asyncpg.Record]", query: str) -> bool:
    return bool(await connection.fetchval(query))
