"""Two retrievers as the service runs them: a question for five slow knowledge bases, and a document for both."""

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import nats
import pytest
import uvloop

from citewire.contracts.events import RetrievalRequested, SegmentsFound
from citewire.contracts.evidence import SearchQuery
from citewire.contracts.knowledge import DocumentStatus
from citewire.contracts.requests import GetDocument, Search, SearchReply
from citewire.runtime.provision import provision
from embedded.servers import EmbeddedServers, ServerUrls
from embedded.settings import EmbeddedSettings
from retriever_stage import ADMIN, Stage, configure, running_retriever, set_scripted_embedders, until
from scripted_embeddings import scripted_embeddings

KBS = 5
# Seconds that each knowledge base's embedder takes for a question.
SLOWNESS = 0.1
# The bars: multiples of the slowest knowledge base at the median, seconds at the 95th percentile.
BAR_SPREAD = 1.2
BAR_FRESH = 1.0


@contextlib.asynccontextmanager
async def running_pair() -> AsyncGenerator[tuple[Stage, Stage]]:
    """Two replicas on servers of their own, with knowledge bases whose embedder is slow."""
    with (
        tempfile.TemporaryDirectory(prefix="citewire-bench-") as name,
        pytest.MonkeyPatch.context() as environment,
        scripted_embeddings() as embedder,
        _servers(Path(name)) as urls,
    ):
        configure(environment, urls, urls.postgres, Path(name))
        set_scripted_embedders(environment, embedder.url, "slow")
        client = await nats.connect(urls.nats)
        await provision(client.jetstream(), max_replicas=1)
        async with running_retriever() as one, running_retriever() as other:
            for number in range(KBS):
                await one.create_kb(f"kb-{number}", embedder="slow")
                await _embedded(one, f"kb-{number}")
            embedder.delay = SLOWNESS
            yield one, other
        await client.close()


@contextlib.contextmanager
def _servers(folder: Path) -> Generator[ServerUrls]:
    # As root, Postgres runs as somebody else, who must get through to its own folder.
    folder.chmod(0o711)
    with EmbeddedServers(folder / "data", EmbeddedSettings(nats_url=None, redis_url=None, postgres_url=None)) as urls:
        yield urls


async def _embedded(stage: Stage, kb_id: str) -> None:
    document = await stage.submit("a.txt", b"The ticket costs ten francs.", kb_id=kb_id)

    async def look() -> bool | None:
        reply = await stage.bus.ask(GetDocument(user=ADMIN, kb_id=kb_id, doc_id=document.doc_id))
        return True if reply.document.status is DocumentStatus.EMBEDDED else None

    await until(look)


async def spread_once(stage: Stage) -> float:
    """The time until all knowledge bases have answered, in multiples of the slowest of them."""
    question = uuid4()
    answers = await stage.bus.client.subscribe(f"{SegmentsFound.subject}.{question}.*")
    started = time.perf_counter()
    for number in range(KBS):
        await stage.bus.publish(_request(question, f"kb-{number}"))
    found = [SegmentsFound.model_validate_json((await answers.next_msg(timeout=10)).data) for _ in range(KBS)]
    taken = time.perf_counter() - started
    await answers.unsubscribe()
    if any(not leg.hits for each in found for leg in each.legs):
        raise SystemExit(f"not all legs found something: {found}")
    return taken * 1000 / max(sum(leg.elapsed_ms for leg in each.legs if leg.leg == "dense") for each in found)


async def fresh_once(stage: Stage, replicas: tuple[Stage, Stage], number: int) -> float:
    """Seconds from a document's being indexed in one replica to its being found in each."""
    word = f"word{number:06}"
    await stage.create_kb(word, embedder="none")
    await stage.add("a.txt", f"The {word} costs ten francs.".encode(), kb_id=word)
    started = time.perf_counter()
    await asyncio.gather(*(until(partial(_finds, replica, word)) for replica in replicas))
    return time.perf_counter() - started


async def _finds(replica: Stage, word: str) -> bool | None:
    (search,) = [responder.handle for responder in replica.bindings.responders if responder.request is Search]
    reply = await search(Search(user=ADMIN, kb_id=word, query=word))
    return True if isinstance(reply, SearchReply) and reply.segments else None


def _request(question: UUID, kb_id: str) -> RetrievalRequested:
    return RetrievalRequested(
        question_id=question,
        deadline=datetime.now(UTC) + timedelta(seconds=10),
        kb_id=kb_id,
        queries=(SearchQuery(query=f"ticket {question}", kb_id=kb_id),),
        top_k=8,
        user=ADMIN,
    )


async def measure(rounds: int) -> list[str]:
    """Both, printed; the bars that were missed."""
    async with running_pair() as replicas:
        spread = sorted([await spread_once(replicas[0]) for _ in range(rounds)])
        fresh = sorted([await fresh_once(replicas[0], replicas, number) for number in range(rounds)])
    middle, late = spread[rounds // 2], fresh[int(rounds * 0.95)]
    print(f"{KBS} knowledge bases of {SLOWNESS * 1000:.0f} ms   {middle:.2f} x the slowest at the median")
    print(f"found in both replicas    {fresh[rounds // 2]:.3f} / {late:.3f} s p50/p95 after the first says indexed")
    missed = [f"spread: {BAR_SPREAD} x the slowest"] if middle > BAR_SPREAD else []
    return missed + ([f"fresh: {BAR_FRESH} s"] if late > BAR_FRESH else [])


def main() -> None:
    """Measure, print, and compare with the bars."""
    parser = argparse.ArgumentParser(description="Measures how retrieval spreads.")
    parser.add_argument("--rounds", type=int, default=30)
    missed = uvloop.run(measure(parser.parse_args().rounds))
    print("\n".join(f"missed: {bar}" for bar in missed) or "all bars are met")
    sys.exit(1 if missed else 0)
