"""Commands of many tasks on one connection to a real Redis: order, errors, and what a lost connection means."""

import asyncio
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from citewire.runtime import pipeline
from citewire.runtime.errors import TransientError
from citewire.runtime.pipeline import CommandPipe, Script
from waiting import until


@pytest.fixture
def pipe(redis: Redis) -> CommandPipe:
    return CommandPipe(redis.connection_pool)


async def waiting(pipe: CommandPipe) -> "asyncio.Task[object]":
    """A command that Redis does not answer, once it is sent."""
    await pipe.run("PING")
    task = asyncio.create_task(pipe.run("BLPOP", f"nothing:{uuid4()}", 0))
    await asyncio.sleep(0)
    return task


async def break_connections(redis: Redis) -> None:
    await redis.client_kill_filter(_type="normal", skipme=True)


async def test_every_command_gets_its_own_reply(pipe: CommandPipe) -> None:
    numbers = range(500)

    replies = await asyncio.gather(*(pipe.run("ECHO", number) for number in numbers))

    assert replies == [str(number) for number in numbers]


async def test_all_tasks_share_one_connection(pipe: CommandPipe, redis: Redis) -> None:
    before = len(redis.connection_pool._in_use_connections)

    await asyncio.gather(*(pipe.run("PING") for _ in range(50)))

    assert len(redis.connection_pool._in_use_connections) == before + 1


async def test_a_refused_command_leaves_its_neighbours_alone(pipe: CommandPipe) -> None:
    key = f"test:{uuid4()}"
    await pipe.run("SET", key, "text", "EX", 60)

    commands = [("ECHO", "before"), ("LLEN", key), ("ECHO", "after")]
    replies = await asyncio.gather(*(pipe.run(*command) for command in commands), return_exceptions=True)

    assert (replies[0], replies[2]) == ("before", "after")
    assert isinstance(replies[1], TransientError)


async def test_a_cancelled_command_shifts_no_replies(pipe: CommandPipe) -> None:
    await pipe.run("PING")
    cancelled = asyncio.create_task(pipe.run("ECHO", "cancelled"))
    await asyncio.sleep(0)

    cancelled.cancel()
    replies = await asyncio.gather(*(pipe.run("ECHO", text) for text in ("a", "b")))

    assert replies == ["a", "b"]
    assert cancelled.cancelled()


async def test_a_broken_connection_fails_what_waits_and_the_next_command_connects_anew(
    pipe: CommandPipe, redis: Redis
) -> None:
    task = await waiting(pipe)
    await until(lambda: not pipe._link._unsent)  # type: ignore[union-attr] # it is connected

    await break_connections(redis)
    with pytest.raises(TransientError):
        await task

    assert await pipe.run("ECHO", "again") == "again"


async def test_a_command_without_a_reply_is_given_up_with_its_connection(
    pipe: CommandPipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patient:
        patient.setattr(pipeline, "COMMAND_TIMEOUT", 0.2)
        task = await waiting(pipe)
        with pytest.raises(TransientError, match="no reply"):
            await task

    assert await pipe.run("ECHO", "again") == "again"


async def test_many_tasks_connect_once_after_a_break(pipe: CommandPipe, redis: Redis) -> None:
    task = await waiting(pipe)
    await break_connections(redis)
    await asyncio.wait({task})
    before = len(redis.connection_pool._in_use_connections)

    replies = await asyncio.gather(*(pipe.run("ECHO", number) for number in range(50)))

    assert replies == [str(number) for number in range(50)]
    assert len(redis.connection_pool._in_use_connections) <= before + 1
    assert isinstance(task.exception(), TransientError)


async def test_a_script_that_redis_has_forgotten_is_taught_again(pipe: CommandPipe, redis: Redis) -> None:
    script = Script(f"return {{KEYS[1], ARGV[1], '{uuid4()}'}}")
    first = await pipe.run_script(script, ["key"], ["argument"])

    await redis.script_flush()
    second = await pipe.run_script(script, ["key"], ["argument"])

    assert first == second
    assert first[:2] == ["key", "argument"]


async def test_closing_the_pool_fails_what_waits(pipe: CommandPipe, redis: Redis) -> None:
    task = await waiting(pipe)

    await redis.connection_pool.disconnect()
    with pytest.raises(TransientError):
        await task


@pytest.mark.parametrize("text", ["", "日本語 😀 مرحبا", "\x00", "\r\n$3\r\nabc", "x" * 1_000_000])
async def test_any_text_comes_back_as_it_was(pipe: CommandPipe, text: str) -> None:
    assert await pipe.run("ECHO", text) == text
