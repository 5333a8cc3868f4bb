"""A server on loopback that speaks OpenAI's embeddings API as it is told to."""

import contextlib
import hashlib
import json
import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loopback import QuietHandler, serving

DIMENSION = 8


@dataclass
class Answer:
    """A status with a body; the client's pauses before it tries again are cut to nothing."""

    status: int
    body: Any


@dataclass
class ScriptedEmbeddings:
    """Gives the answers of its script, then right ones, each after `delay` seconds; remembers what it was asked."""

    url: str = ""
    delay: float = 0.0
    script: deque[Answer] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)


def vector_of(text: str) -> list[float]:
    """Numbers, not of unit length, that stand for a text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return [float(value) for value in np.random.default_rng(seed).standard_normal(DIMENSION)]


def embeddings(*vectors: list[Any]) -> dict[str, Any]:
    """The body of an answer with these vectors in this order."""
    rows = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return {"object": "list", "model": "scripted", "data": rows, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@contextlib.contextmanager
def scripted_embeddings() -> Generator[ScriptedEmbeddings]:
    """Runs the server for as long as the context lasts."""
    scripted = ScriptedEmbeddings()

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            scripted.requests.append(request)
            scripted.keys.append(self.headers["Authorization"])
            right = Answer(200, embeddings(*map(vector_of, request["input"])))
            self._send(scripted.script.popleft() if scripted.script else right)

        def _send(self, answer: Answer) -> None:
            time.sleep(scripted.delay)
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Retry-After-Ms", "1")
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as url:
        scripted.url = f"{url}/v1"
        yield scripted
