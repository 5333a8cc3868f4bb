"""What a retriever makes of what an earlier one left behind."""

import asyncio

import asyncpg
import pytest

from citewire.contracts.knowledge import DocumentStatus, KnowledgeBase
from citewire.contracts.streams import KB_BUCKET
from citewire.runtime.bus import Bus
from citewire.runtime.database import open_database
from citewire.runtime.migrations import migrate, roll_back
from citewire.runtime.registry import watch
from retriever.app import MIGRATIONS
from retriever.store.documents import DocumentStore
from retriever_stage import running_retriever
from sample_files import pdf_file, shown

pytestmark = pytest.mark.usefixtures("retriever_settings")


async def test_the_register_is_repaired_at_start(bus: Bus) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
    async with watch(bus, KB_BUCKET, KnowledgeBase) as register:
        stale = register.entries["kb"].model_copy(update={"kb_id": "ghost"})
        await register.put("ghost", stale)
        await register.remove("kb")

    async with running_retriever(), watch(bus, KB_BUCKET, KnowledgeBase) as register:
        assert list(register.entries) == ["kb"]


async def test_what_was_never_announced_is_read_after_a_restart(bus: Bus, database: str) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
        document = await stage.submit("a.txt", b"The ticket costs ten francs.", upload="upload-1")
        await stage.settled(document.doc_id)
    async with open_database(database) as opened:
        # A process that dies after this statement has told nobody.
        submission = await DocumentStore(opened).submit("kb", "b.txt", "gone", {})

    async with running_retriever() as stage:
        assert submission is not None
        assert (await stage.settled(submission.document.doc_id)).status is DocumentStatus.FAILED


async def test_the_schema_goes_back_and_forward_with_data_in_it(database: str) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
        await stage.add("guide.pdf", pdf_file(shown("The ticket costs ten francs.")))
    connection = await asyncpg.connect(database)

    await asyncio.to_thread(roll_back, database, "knowledge", MIGRATIONS)
    left = await connection.fetchval("SELECT to_regclass('knowledge.kbs')")
    await migrate(database, "knowledge", MIGRATIONS)
    count = await connection.fetchval("SELECT count(*) FROM knowledge.kbs")
    await connection.close()

    assert (left, count) == (None, 0)
