"""The parts of a retriever on servers of its own, and what their processes used."""

import contextlib
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path

import nats
import psutil
from pgvector.asyncpg import register_vector

from bench.cpu import cpu_seconds
from citewire.contracts.knowledge import KnowledgeBase, NewKnowledgeBase
from citewire.contracts.streams import KB_BUCKET
from citewire.runtime.bus import Bus
from citewire.runtime.database import open_database
from citewire.runtime.migrations import migrate
from citewire.runtime.provision import provision
from citewire.runtime.registry import watch
from embedded.servers import EmbeddedServers, ServerUrls
from embedded.settings import EmbeddedSettings
from retriever.app import _SESSION_SETTINGS, MIGRATIONS
from retriever.dense import DenseLeg
from retriever.embedding.embedders import Embedders, open_embedders
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.rerank import RerankLeg
from retriever.reranking.rerankers import Rerankers
from retriever.search import Searcher
from retriever.settings import Settings
from retriever.store.documents import DocumentStore
from retriever.store.kbs import KbStore
from retriever.store.passages import PassageStore
from retriever.store.vectors import VectorStore
from retriever.store.versions import VersionStore
from retriever.worker import Worker

KB_ID = "bench"


@dataclass(frozen=True)
class Parts:
    """What the retriever's service would build, with the servers' address and a folder for indexes."""

    postgres: str
    folder: Path
    kbs: KbStore
    documents: DocumentStore
    versions: VersionStore
    vectors: VectorStore
    passages: PassageStore
    register: Register
    embedders: Embedders
    reader: Worker
    tokeniser: Worker

    def follower(self, name: str) -> IndexFollower:
        """The indexes in a folder of this name."""
        boost = float(Settings.model_fields["header_boost"].default)
        return IndexFollower(self.kbs, self.versions, self.tokeniser, self.folder / name, boost)

    def searcher(self, indexes: IndexFollower, embedders: Embedders) -> Searcher:
        """A whole search without a reranker."""
        dense = DenseLeg(self.vectors, embedders)
        characters = int(Settings.model_fields["segment_characters"].default)
        return Searcher(
            self.register, indexes, dense, RerankLeg(Rerankers({}), self.passages), self.passages, characters
        )


@contextlib.asynccontextmanager
async def running_parts() -> AsyncGenerator[Parts]:
    """Start servers and parts with one empty knowledge base; all end with the block."""
    with tempfile.TemporaryDirectory(prefix="citewire-bench-") as name, _servers(Path(name)) as urls:
        client = await nats.connect(urls.nats)
        js = client.jetstream()
        await provision(js, max_replicas=1)
        await migrate(urls.postgres, "knowledge", MIGRATIONS)
        async with (
            open_database(urls.postgres, register_vector, _SESSION_SETTINGS) as database,
            watch(Bus(client, js), KB_BUCKET, KnowledgeBase) as entries,
            Worker(300) as reader,
            Worker(300) as tokeniser,
            open_embedders({}, Path(name)) as embedders,
        ):
            kbs = KbStore(database)
            await kbs.create(NewKnowledgeBase(kb_id=KB_ID, title="Bench"))
            yield Parts(
                urls.postgres,
                Path(name),
                kbs,
                DocumentStore(database),
                VersionStore(database),
                VectorStore(database),
                PassageStore(database),
                Register(entries, kbs),
                embedders,
                reader,
                tokeniser,
            )
        await client.close()


@contextlib.contextmanager
def _servers(folder: Path) -> Generator[ServerUrls]:
    # As root, Postgres runs as somebody else, who must get through to its own folder.
    folder.chmod(0o711)
    settings = EmbeddedSettings(nats_url=None, redis_url=None, postgres_url=None)
    with EmbeddedServers(folder / "data", settings) as urls:
        yield urls


class Accounts:
    """CPU seconds since it was made, by what they were spent on."""

    def __init__(self) -> None:
        children = cpu_seconds(child_groups())
        # Last, since looking through all processes takes a tenth of a second itself.
        self._before = {"retriever": time.process_time(), **children}

    def spent(self) -> dict[str, float]:
        """Seconds by group: this process, its reading and tokenising children, the embedding worker, Postgres."""
        now = {"retriever": time.process_time(), **cpu_seconds(child_groups())}
        return {group: now[group] - self._before.get(group, 0.0) for group in now}


def child_groups() -> dict[str, list[psutil.Process]]:
    """The processes beside this one, by what they do."""
    groups: dict[str, list[psutil.Process]] = {"children": [], "embedding": [], "postgres": []}
    for child in psutil.Process().children():
        command = " ".join(child.cmdline())
        if "retriever.child" in command:
            groups["children"].append(child)
        elif "retriever.embedding" in command:
            groups["embedding"].append(child)
        elif child.name() == "postgres":
            groups["postgres"].append(child)
    return groups


def resident_megabytes() -> dict[str, float]:
    """Resident memory by group, as of now."""
    groups = {"retriever": [psutil.Process()], **child_groups()}
    del groups["postgres"]  # its processes share most of theirs
    return {
        group: sum(process.memory_info().rss for process in processes) / 2**20 for group, processes in groups.items()
    }
