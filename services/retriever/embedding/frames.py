"""What a retriever and the embedding worker say to each other over their socket.

A frame is the length of its head and that of its body (two big-endian 32-bit numbers), the head in JSON, and the body:
vectors as rows of little-endian float32. A request has no body. Before all frames, the worker says hello.
"""

import asyncio
import json
import struct
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retriever.embedding.embedder import Role

# The worker's first word to a client: until then the socket may be that of a process about to end.
HELLO = b"embedding 1\n"
_LENGTHS = struct.Struct(">II")


@dataclass(frozen=True)
class Request:
    """Texts to embed; the reply bears the request's number."""

    number: int
    role: Role
    texts: list[str]


@dataclass(frozen=True)
class Reply:
    """Vectors [texts, dimension] in the order of the texts, or why there never will be any."""

    number: int
    vectors: NDArray[np.float32] | None = None
    unavailable: str | None = None


def pack_request(request: Request) -> bytes:
    """The frame of a request."""
    return _pack(asdict(request))


def pack_reply(reply: Reply) -> bytes:
    """The frame of a reply."""
    if reply.vectors is None:
        return _pack({"number": reply.number, "unavailable": reply.unavailable})
    head = {"number": reply.number, "shape": reply.vectors.shape}
    return _pack(head, reply.vectors.astype("<f4").tobytes())


async def read_request(stream: asyncio.StreamReader) -> Request:
    """The next request; raises IncompleteReadError when there is none."""
    head, _ = await _read(stream)
    return Request(head["number"], Role(head["role"]), head["texts"])


async def read_reply(stream: asyncio.StreamReader) -> Reply:
    """The next reply; raises IncompleteReadError when there is none."""
    head, body = await _read(stream)
    if "shape" not in head:
        return Reply(head["number"], unavailable=head["unavailable"])
    vectors = np.frombuffer(body, dtype="<f4").astype(np.float32)
    return Reply(head["number"], vectors.reshape(head["shape"]))


def _pack(head: dict[str, Any], body: bytes = b"") -> bytes:
    # The standard module, because it escapes lone surrogates where others refuse them.
    encoded = json.dumps(head).encode()
    return _LENGTHS.pack(len(encoded), len(body)) + encoded + body


async def _read(stream: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    head_length, body_length = _LENGTHS.unpack(await stream.readexactly(_LENGTHS.size))
    head = json.loads(await stream.readexactly(head_length))
    return head, await stream.readexactly(body_length)
