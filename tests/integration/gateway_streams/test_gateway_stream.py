"""An answer as clients read it, from a real log in Redis that the test writes."""

import asyncio
from itertools import pairwise

import pytest
from redis.asyncio import Redis

from citewire.contracts.sessions import InteractionStatus
from citewire.runtime.answer_log import READ_LIMIT, AnswerLog
from citewire.runtime.answer_scripts import MAX_NEWS_BYTES
from citewire.runtime.bus import Bus
from gateway import hub as hub_module
from gateway import stream as stream_module
from gateway.news import MAX_HELD
from stream_stage import (
    READER,
    Frame,
    Gateway,
    Store,
    Writer,
    frames_in,
    new_writer,
    running_gateway,
    text_of,
)
from waiting import until


async def test_a_live_answer_arrives_in_order_with_numbers_without_gaps(gateway: Gateway, writer: Writer) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await until(lambda: client.events == ["sources"])
    await writer.deltas("a")
    await until(lambda: client.events == ["sources", "delta"])
    await writer.deltas("b", "c")
    await writer.end()
    await writer.stored()

    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "delta", "delta", "done"]
    assert [frame.number for frame in frames] == [1, 2, 3, 4, 5]
    assert text_of(frames) == "abc"
    assert frames[-1].data["persisted"] is True


async def test_a04_what_was_written_before_the_reader_came_is_replayed(gateway: Gateway, writer: Writer) -> None:
    await writer.whole("a", "b")

    frames = await gateway.read(writer).finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "delta", "done"]
    assert text_of(frames) == "ab"


async def test_a03_fifty_readers_of_instant_answers_miss_nothing(gateway: Gateway, answer_log: AnswerLog) -> None:
    writers = [await new_writer(answer_log) for _ in range(50)]
    clients = [gateway.read(writer) for writer in writers]

    await asyncio.gather(*(writer.whole("a", "b", "c") for writer in writers))
    answers = [await client.finish() for client in clients]

    assert [[frame.number for frame in frames] for frames in answers] == [[1, 2, 3, 4, 5]] * 50
    assert {text_of(frames) for frames in answers} == {"abc"}


async def test_a05_three_reconnects_in_two_hundred_deltas_lose_nothing(gateway: Gateway, writer: Writer) -> None:
    texts = [f"{number} " for number in range(200)]
    got: list[Frame] = []
    all_reconnected = asyncio.Event()

    async def read_until(count: int) -> None:
        client = gateway.read(writer, got[-1].number if got else 0)
        await until(lambda: len(got) + len(client.frames) >= count)
        await client.leave()
        got.extend(client.frames)

    async def write() -> None:
        await writer.sources()
        for text in texts[:170]:
            await writer.deltas(text)
        await all_reconnected.wait()
        await writer.deltas(*texts[170:])
        await writer.end()
        await writer.stored()

    writing = asyncio.create_task(write())
    for count in (50, 100, 150):
        await read_until(count)
    all_reconnected.set()
    await writing
    got += await gateway.read(writer, got[-1].number).finish()

    assert [frame.number for frame in got] == [*range(1, 203)]
    assert text_of(got) == "".join(texts)


async def test_a06_two_questions_have_their_own_logs(gateway: Gateway, answer_log: AnswerLog) -> None:
    first, second = await new_writer(answer_log), await new_writer(answer_log)
    await first.whole("one")

    client = gateway.read(second)
    await second.whole("two")
    frames = await client.finish()

    assert [frame.number for frame in frames] == [1, 2, 3]
    assert text_of(frames) == "two"


async def test_a06_every_tab_sees_the_whole_answer(gateway: Gateway, writer: Writer) -> None:
    tabs = [gateway.read(writer) for _ in range(3)]
    await writer.sources()
    await writer.deltas("a")
    await until(lambda: all(tab.events == ["sources", "delta"] for tab in tabs))
    await tabs[0].leave()
    await writer.deltas("b")
    await writer.end()
    await writer.stored()

    answers = [await tab.finish() for tab in tabs[1:]]

    assert [text_of(frames) for frames in answers] == ["ab", "ab"]


async def test_a08_without_a_cursor_the_answer_comes_from_the_start(gateway: Gateway, writer: Writer) -> None:
    await writer.sources()
    await writer.deltas(*(f"{number} " for number in range(50)))

    client = gateway.read(writer)
    await until(lambda: len(client.frames) == 51)
    await writer.deltas("last")
    await writer.end()
    await writer.stored()
    frames = await client.finish()

    assert [frame.number for frame in frames] == [*range(1, 54)]


async def test_a09_a_reconnect_after_the_end_brings_the_rest_and_done(gateway: Gateway, writer: Writer) -> None:
    await writer.whole(*(f"{number} " for number in range(99)))

    frames = await gateway.read(writer, 90).finish()

    assert [frame.number for frame in frames] == [*range(91, 102)]
    assert frames[-1].event == "done"


async def test_a_client_that_has_the_end_already_gets_it_once_more(gateway: Gateway, writer: Writer) -> None:
    await writer.whole("a")

    frames = await gateway.read(writer, 3).finish()

    assert [(frame.number, frame.event) for frame in frames] == [(3, "done")]


@pytest.mark.parametrize("after", [4, 99])
async def test_a_reconnect_behind_the_last_frame_ends_too(
    gateway: Gateway, writer: Writer, store: Store, after: int
) -> None:
    await writer.whole("ab")
    store.keep(writer.question_id, "ab")

    frames = await gateway.read(writer, after).finish()

    assert frames[-1].event == "done"


async def test_a19_eight_open_streams_hold_up_neither_a_ninth_nor_a_stop(
    gateway: Gateway, writer: Writer, answer_log: AnswerLog
) -> None:
    tabs = [gateway.read(await new_writer(answer_log)) for _ in range(8)]
    await until(lambda: gateway.hub.open_streams == 8)

    await writer.whole("a")
    frames = await gateway.read(writer).finish()
    await gateway.stops.stop(writer.question_id)

    assert text_of(frames) == "a"
    await asyncio.gather(*(tab.leave() for tab in tabs))


async def test_a15_spaces_at_the_edges_of_deltas_are_kept(gateway: Gateway, writer: Writer) -> None:
    await writer.whole("###", " **2. Title", "\n", "  x ")

    frames = await gateway.read(writer).finish()

    assert text_of(frames) == "### **2. Title\n  x "


async def test_a_merged_stream_has_the_same_text_in_one_delta(gateway: Gateway, writer: Writer) -> None:
    client = gateway.read(writer, merged=True)
    await writer.sources()
    await writer.deltas("a", " b")
    await until(lambda: client.events == ["sources"])
    await writer.deltas("\u2028c")
    await writer.end()
    await writer.stored()

    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "done"]
    assert text_of(frames) == "a b\u2028c"
    assert frames[-1].number == 5


async def test_a_merged_answer_without_text_has_no_delta(gateway: Gateway, writer: Writer) -> None:
    await writer.whole()

    frames = await gateway.read(writer, merged=True).finish()

    assert [frame.event for frame in frames] == ["sources", "done"]


async def test_an_answer_that_failed_ends_with_an_error(gateway: Gateway, writer: Writer) -> None:
    await writer.sources()
    await writer.end(InteractionStatus.FAILED, "the stage\u2028failed")
    await writer.stored(InteractionStatus.FAILED)

    client = gateway.read(writer)
    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "error"]
    assert frames[-1].data["status"] == 500
    assert frames[-1].data["detail"] == "the stage\u2028failed"
    assert "\u2028" not in client.raw.decode()


async def test_a17_a_draining_gateway_sends_every_client_elsewhere(gateway: Gateway, writer: Writer) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await until(lambda: client.events == ["sources"])

    gateway.streams.drain()
    await client.finish()

    assert client.raw.endswith(b"event: reconnect\ndata: {}\n\n")


async def test_a17_the_rest_comes_from_another_gateway(
    gateway: Gateway, writer: Writer, redis: Redis, bus: Bus
) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await writer.deltas("a")
    await until(lambda: len(client.frames) == 2)
    gateway.streams.drain()
    await client.finish()

    async with running_gateway(redis, bus) as other:
        rest = other.read(writer, client.frames[-1].number)
        await writer.deltas("b")
        await writer.end()
        await writer.stored()
        frames = client.frames + await rest.finish()

    assert [frame.number for frame in frames] == [1, 2, 3, 4]
    assert text_of(frames) == "ab"


async def test_a02_silence_is_filled_with_comments_that_are_no_frames(gateway: Gateway, writer: Writer) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await until(lambda: client.raw.count(b":\n\n") >= 2)
    await writer.deltas("a")
    await writer.end()
    await writer.stored()

    frames = await client.finish()

    assert [frame.event for frame in frames] == ["sources", "delta", "done"]


async def test_a_client_that_leaves_is_forgotten(gateway: Gateway, writer: Writer) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await until(lambda: client.events == ["sources"])

    await client.leave()

    assert gateway.hub.open_streams == 0


async def test_an_answer_of_more_entries_than_one_read_takes_is_replayed_whole(
    gateway: Gateway, writer: Writer
) -> None:
    texts = [f"{number} " for number in range(2 * READ_LIMIT + 7)]
    await writer.whole(*texts)

    frames = await gateway.read(writer).finish()

    assert [frame.number for frame in frames] == [*range(1, len(texts) + 3)]
    assert text_of(frames) == "".join(texts)


async def test_entries_too_large_for_the_wake_up_arrive_live(gateway: Gateway, writer: Writer) -> None:
    client = gateway.read(writer)
    await writer.sources()
    await until(lambda: client.events == ["sources"])

    await writer.deltas("x" * MAX_NEWS_BYTES)
    await writer.deltas("y")
    await until(lambda: len(client.frames) == 3)

    assert text_of(client.frames) == "x" * MAX_NEWS_BYTES + "y"
    await client.leave()


async def test_a_client_that_takes_nothing_for_a_while_gets_all_of_it_afterwards(
    gateway: Gateway, writer: Writer
) -> None:
    async with gateway.streams.follow(writer.question_id, READER, 0) as stream:
        await writer.sources()
        got = [await stream.next()]
        for _ in range(2 * MAX_HELD // 10_000):
            await writer.deltas("x" * 10_000)
        await writer.end()
        await writer.stored()

        while chunk := await stream.next():
            got.append(chunk)

    frames = frames_in(b"".join(got))
    assert [frame.number for frame in frames] == [*range(1, 2 * MAX_HELD // 10_000 + 3)]


async def test_a01_the_longest_silence_is_shorter_than_what_a_proxy_allows(
    redis: Redis, bus: Bus, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "CHECK_INTERVAL", 0.05)
    monkeypatch.setattr(hub_module, "TICK", 0.01)
    loop, arrivals = asyncio.get_running_loop(), []
    async with running_gateway(redis, bus, heartbeat=0.3) as gateway:
        await writer.sources()
        async with gateway.streams.follow(writer.question_id, READER, 0) as stream:
            for _ in range(4):
                await stream.next()
                arrivals.append(loop.time())

    assert max(later - earlier for earlier, later in pairwise(arrivals)) < 2 * 0.3
