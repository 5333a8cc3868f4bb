"""The process that reads files."""

import os
import signal

from retriever.contents import NewVersion, Unreadable
from retriever.worker import Worker


async def test_a_file_is_read_in_another_process() -> None:
    async with Worker(reading_limit=30) as worker:
        version = await worker.read_file("a.txt", b"The ticket costs ten francs.")

    assert isinstance(version, NewVersion)
    assert version.text[version.chunks[0].start : version.chunks[0].end] == "The ticket costs ten francs."


async def test_a_file_that_takes_too_long_is_unreadable_and_the_next_one_is_read() -> None:
    async with Worker(reading_limit=0.001) as worker:
        outcome = await worker.read_file("a.txt", b"The ticket costs ten francs.")

        assert isinstance(outcome, Unreadable)
        assert "longer" in outcome.reason
        assert await worker.tokenise(["Tickets"]) == ["ticket"]


async def test_a_process_that_died_idle_is_replaced() -> None:
    async with Worker(reading_limit=30) as worker:
        await worker.tokenise(["Tickets"])
        child = worker._process
        assert child is not None
        os.kill(child.pid, signal.SIGKILL)
        await child.wait()

        assert await worker.tokenise(["Tickets"]) == ["ticket"]


async def test_what_cannot_be_read_says_why() -> None:
    async with Worker(reading_limit=30) as worker:
        outcome = await worker.read_file("a.pdf", b"%PDX this is no document")

    assert isinstance(outcome, Unreadable)
    assert outcome.reason
