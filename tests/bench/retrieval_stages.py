"""What is measured of retrieval, one function per stage; each returns what it found as named numbers."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from bench.retriever_parts import KB_ID, Accounts, Parts
from bench.vectors import Drawn, DrawnQuestions
from citewire.contracts.evidence import SearchQuery
from citewire.contracts.identity import Role, User
from citewire.runtime.provision import INGESTER
from retriever.contents import Unreadable
from retriever.dense import DenseLeg
from retriever.embedding import e5
from retriever.embedding.embedders import BUNDLED, Embedders
from retriever.index.follower import IndexFollower
from retriever.index.terms import query_weights
from retriever.search import CANDIDATES, Asked
from retriever.store.vectors import EXACT_ROWS, Space

WARM_UP = 20
# Vectors that are stored in one step.
VECTOR_BATCH = 2000
# Nothing has to do with a drawn vector, and still there are to be segments to read.
LENIENT = {"minimum_value": 0.001, "irrelevant_chunk_penalty": 0.001, "overall_max_length": 8}
ADMINISTRATOR = User(user_id="bench", role=Role.ADMINISTRATOR)


@dataclass(frozen=True)
class Work:
    """Something done once: chunks, seconds, and CPU seconds by group of processes."""

    chunks: int
    seconds: float
    cpu: Mapping[str, float]

    @property
    def python(self) -> float:
        """CPU seconds of the retriever's own processes."""
        return sum(seconds for group, seconds in self.cpu.items() if group != "postgres")


@dataclass(frozen=True)
class Searches:
    """Something done for many questions: seconds of each, and CPU milliseconds of one by group of processes."""

    seconds: Sequence[float]
    cpu_ms: Mapping[str, float]

    def percentile(self, share: float) -> float:
        """Milliseconds that this share of the searches stayed below."""
        return sorted(self.seconds)[int(len(self.seconds) * share)] * 1000


async def ingest(parts: Parts, indexes: IndexFollower, documents: Iterator[tuple[str, bytes]], chunks: int) -> Work:
    """Files, by name and contents, to searchable chunks, through all steps but the bus, until there are so many.

    As many documents at a time as the service takes.
    """
    accounts, started = Accounts(), time.perf_counter()
    stored = 0

    async def take() -> None:
        nonlocal stored
        for name, data in documents:
            taken = await _ingest_one(parts, indexes, name, data)
            stored += taken
            if stored >= chunks:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(INGESTER.workers):
            group.create_task(take())
    return Work(stored, time.perf_counter() - started, accounts.spent())


async def _ingest_one(parts: Parts, indexes: IndexFollower, name: str, data: bytes) -> int:
    submission = await parts.documents.submit(KB_ID, name, name, {})
    version = await parts.reader.read_file(name, data)
    if submission is None or isinstance(version, Unreadable):
        raise SystemExit(f"{name} was not taken: {version}")
    event = submission.event
    await parts.documents.begin(event.doc_id, event.version)
    await parts.versions.store(event.doc_id, event.version, hashlib.sha256(data).digest(), version)
    await indexes.follow(KB_ID)
    await parts.documents.finish(event.doc_id, event.version)
    return len(version.chunks)


async def rebuild(parts: Parts, indexes: IndexFollower) -> Work:
    """An index from nothing but Postgres."""
    accounts, started = Accounts(), time.perf_counter()
    opened = await indexes.follow(KB_ID)
    if opened is None:
        raise SystemExit("the knowledge base is gone")
    return Work(len(opened.index), time.perf_counter() - started, accounts.spent())


async def search_words(indexes: IndexFollower, questions: Sequence[str]) -> Searches:
    """The lexical leg, from the question's text to ids and scores."""
    opened = indexes.get(KB_ID)
    if opened is None:
        raise SystemExit("the knowledge base is gone")

    async def search(question: str) -> None:
        weights = query_weights(SearchQuery(query=question, kb_id=KB_ID))
        await asyncio.to_thread(opened.index.search, weights, CANDIDATES)

    return await _timed(search, questions)


async def fill_vectors(parts: Parts, drawn: Drawn) -> Work:
    """A vector for every chunk, and then the index that so many get."""
    accounts, started = Accounts(), time.perf_counter()
    stored = await parts.kbs.find(KB_ID)
    if stored is None:
        raise SystemExit("the knowledge base is gone")
    await parts.vectors.open_space(stored.uid, BUNDLED, e5.NAME, e5.DIMENSION)
    filled = 0
    space = await _space(parts, stored.uid)
    while pending := await parts.vectors.pending(stored.uid, space, VECTOR_BATCH):
        await parts.vectors.add(space, pending, drawn.chunks(len(pending)))
        filled += len(pending)
    await parts.vectors.complete(space)
    if filled > EXACT_ROWS:
        await parts.vectors.index(space)
    return Work(filled, time.perf_counter() - started, accounts.spent())


async def _space(parts: Parts, kb_uid: UUID) -> Space:
    (space,) = (await parts.vectors.embedded(kb_uid)).spaces
    return space


async def embed_questions(parts: Parts, questions: Sequence[str]) -> Searches:
    """The vectors of questions alone, which the dense leg waits for."""
    embedder = parts.embedders.get(BUNDLED)
    # Its process starts at the first request, which takes longer than a question waits for it.
    await embedder.passages(["warm up"])

    async def search(question: str) -> None:
        await embedder.query(question)

    return await _timed(search, questions)


def with_drawn(embedders: Embedders, drawn: Drawn, questions: int) -> Embedders:
    """The bundled embedder with drawn questions: real ones are no neighbours of drawn chunks."""
    return Embedders({BUNDLED: DrawnQuestions(embedders.get(BUNDLED), drawn, questions)})


async def search_vectors(parts: Parts, embedders: Embedders, questions: Sequence[str]) -> Searches:
    """The dense leg, from the question's text to ids and scores."""
    stored = await parts.kbs.find(KB_ID)
    if stored is None:
        raise SystemExit("the knowledge base is gone")
    leg = DenseLeg(parts.vectors, embedders)

    async def search(question: str) -> None:
        found = await leg.search(stored.uid, BUNDLED, [question], CANDIDATES, None)
        if len(found.rankings[0]) < CANDIDATES:
            raise SystemExit(f"{len(found.rankings[0])} hits: {found.skipped or found.error}")

    return await _timed(search, questions)


async def search_both(parts: Parts, indexes: IndexFollower, embedders: Embedders, questions: Sequence[str]) -> Searches:
    """A whole search: both legs, fused, cut into segments and read."""
    await parts.register.refresh()
    searcher = parts.searcher(indexes, embedders)

    async def search(question: str) -> None:
        query = SearchQuery(query=question, kb_id=KB_ID)
        found = await searcher.search(KB_ID, Asked((query,), top_k=8, user=ADMINISTRATOR, rse_params=LENIENT))
        if found.error or not found.segments or not all(leg.hits for leg in found.legs):
            raise SystemExit(f"not all legs found something: {found.legs}")

    return await _timed(search, questions)


async def _timed(search: Callable[[str], Awaitable[None]], questions: Sequence[str]) -> Searches:
    """One question after the other; the first ones warm up and do not count."""
    for question in questions[:WARM_UP]:
        await search(question)
    accounts, seconds = Accounts(), []
    for question in questions[WARM_UP:]:
        started = time.perf_counter()
        await search(question)
        seconds.append(time.perf_counter() - started)
    return Searches(seconds, {group: spent * 1000 / len(seconds) for group, spent in accounts.spent().items()})
