"""What goes over the socket of the embedding worker."""

import asyncio

import numpy as np
import pytest

from retriever.embedding.embedder import Role
from retriever.embedding.frames import Reply, Request, pack_reply, pack_request, read_reply, read_request


def stream_of(data: bytes) -> asyncio.StreamReader:
    stream = asyncio.StreamReader()
    stream.feed_data(data)
    stream.feed_eof()
    return stream


async def test_requests_arrive_as_they_were_sent_one_after_the_other() -> None:
    requests = [Request(1, Role.QUERY, ["Why?"]), Request(2, Role.PASSAGE, ["", "因为", "\x00", "\ud800", "😀"])]
    stream = stream_of(b"".join(map(pack_request, requests)))

    assert [await read_request(stream), await read_request(stream)] == requests


@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (0, 3)])
async def test_vectors_arrive_as_they_were_sent(shape: tuple[int, int]) -> None:
    vectors = np.random.default_rng(0).standard_normal(shape).astype(np.float32)

    reply = await read_reply(stream_of(pack_reply(Reply(7, vectors))))

    assert reply.number == 7
    assert reply.vectors is not None
    assert reply.vectors.dtype == np.float32
    assert np.array_equal(reply.vectors, vectors)


async def test_a_reason_arrives_as_it_was_sent() -> None:
    reply = await read_reply(stream_of(pack_reply(Reply(7, unavailable="no such model"))))

    assert reply == Reply(7, unavailable="no such model")


@pytest.mark.parametrize("length", [0, 3, 8, 20])
async def test_a_frame_that_breaks_off_is_the_end(length: int) -> None:
    frame = pack_request(Request(1, Role.QUERY, ["Why?"]))

    with pytest.raises(asyncio.IncompleteReadError):
        await read_request(stream_of(frame[:length]))
