"""What is measured: the chain in each layout, and the floor, each on servers of its own that have done nothing yet."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nats
import psutil

from bench.cpu import Groups
from bench.stand_ins import KBS
from citewire.contracts.events import now
from citewire.contracts.identity import ApiKey, User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.model import Message
from citewire.contracts.streams import KB_BUCKET, KEY_BUCKET
from citewire.runtime.provision import provision
from citewire.runtime.settings import ROLES
from embedded.servers import EmbeddedServers, ServerUrls
from embedded.settings import EmbeddedSettings
from gateway.keys import fingerprint, new_secret

TESTS = Path(__file__).parents[1]
SERVERS = {"nats-server": "nats", "valkey-server": "valkey", "redis-server": "valkey", "postgres": "postgres"}

# The module of each process with its arguments, by its name in the table.
LAYOUTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "floor": {"floor": ["bench.floor"]},
    "all-in-one": {"services": ["bench.chain_roles", *ROLES]},
    "process per role": {role: ["bench.chain_roles", role] for role in ROLES},
}


@dataclass(frozen=True)
class Chain:
    """A running chain: where to ask, with which key, whose CPU time counts, where its answers and records are."""

    port: int
    key: str
    groups: Groups
    nats_url: str
    redis_url: str
    postgres_url: str


@contextlib.asynccontextmanager
async def running_chain(commands: Mapping[str, Sequence[str]]) -> AsyncGenerator[Chain]:
    """Start servers and the processes of a layout; all end with the block."""
    with tempfile.TemporaryDirectory(prefix="citewire-bench-") as folder, _servers(Path(folder)) as urls:
        key = new_secret()
        await _fill_buckets(urls.nats, key)
        port = _free_port()
        with _processes(commands, urls, _environment(urls, port)) as processes:
            yield Chain(port, key, processes | _server_processes(), urls.nats, urls.redis, urls.postgres)


@contextlib.contextmanager
def _servers(folder: Path) -> Iterator[ServerUrls]:
    # As root, Postgres runs as somebody else, who must get through to its own folder.
    folder.chmod(0o711)
    settings = EmbeddedSettings(nats_url=None, redis_url=None, postgres_url=None)
    with EmbeddedServers(folder / "data", settings) as urls:
        yield urls


async def _fill_buckets(url: str, key: str) -> None:
    """Register the knowledge bases and the key past the services that own them."""
    client = await nats.connect(url)
    js = client.jetstream()
    await provision(js, max_replicas=1)
    entry = ApiKey(key_id="bench", user=User(user_id="bench"), created_at=now())
    bases: dict[str, Message] = {kb_id: KnowledgeBase(kb_id=kb_id, title=kb_id, created_at=now()) for kb_id in KBS}
    for bucket, entries in ((KB_BUCKET, bases), (KEY_BUCKET, {fingerprint(key): entry})):
        store = await js.key_value(bucket)
        for name, content in entries.items():
            await store.put(name, content.model_dump_json().encode())
    await client.close()


def _environment(urls: ServerUrls, port: int) -> dict[str, str]:
    return os.environ | {
        "CITEWIRE_REDIS_URL": urls.redis,
        "CITEWIRE_POSTGRES_URL": urls.postgres,
        "CITEWIRE_GATEWAY_PORT": str(port),
        # All questions are one user's.
        "CITEWIRE_GATEWAY_QUESTIONS_PER_MINUTE": "0",
        "CITEWIRE_GATEWAY_RUNNING_PER_USER": "0",
        "CITEWIRE_LOG_LEVEL": "warning",
    }


@contextlib.contextmanager
def _processes(
    commands: Mapping[str, Sequence[str]], urls: ServerUrls, environment: dict[str, str]
) -> Iterator[dict[str, list[psutil.Process]]]:
    """Start processes of our own and wait until each says that it takes work."""
    with contextlib.ExitStack() as stack:
        started = {
            name: _start(command, environment | {"CITEWIRE_NATS_URL": urls.nats_of(name)}, stack)
            for name, command in commands.items()
        }
        for name, process in started.items():
            if process.stdout is None or process.stdout.readline() != "ready\n":
                raise SystemExit(f"{name} did not start")
        yield {name: [psutil.Process(process.pid)] for name, process in started.items()}


def _start(command: Sequence[str], environment: dict[str, str], stack: contextlib.ExitStack) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=TESTS, env=environment, stdout=subprocess.PIPE, text=True
    )
    stack.enter_context(process)
    stack.callback(process.terminate)
    return process


def _server_processes() -> dict[str, list[psutil.Process]]:
    children = psutil.Process().children()
    return {group: [child] for child in children if (group := SERVERS.get(child.name()))}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
