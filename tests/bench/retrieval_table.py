"""All stages of retrieval in order: measured, printed, and compared with the bars."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import uvloop

from bench.corpus import Corpus
from bench.retrieval_stages import (
    WARM_UP,
    Searches,
    Work,
    embed_questions,
    fill_vectors,
    ingest,
    rebuild,
    search_both,
    search_vectors,
    search_words,
    with_drawn,
)
from bench.retriever_parts import resident_megabytes, running_parts
from bench.texts import Texts
from bench.vectors import Drawn, LikeText, Random
from citewire.runtime.garbage import spare_collections

# The bars: chunks per CPU second of Python, seconds for 100,000 chunks, milliseconds at the median.
BAR_INGEST = 2000.0
BAR_REBUILD = 60.0
BAR_WORDS = 3.0
BAR_BOTH = 30.0


class Table:
    """Rows as they come, and the bars that were missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def work(self, name: str, work: Work) -> None:
        """A row for something done once."""
        print(
            f"{name:22}{work.chunks:>8} chunks {work.seconds:>7.1f} s"
            f"{work.chunks / work.python:>8.0f} chunks per CPU s   CPU s: {_split(work.cpu)}",
            flush=True,
        )

    def searches(self, name: str, searches: Searches) -> None:
        """A row for many searches."""
        middle, high = searches.percentile(0.5), searches.percentile(0.95)
        print(
            f"{name:22}{len(searches.seconds):>8} times  {middle:>7.2f} / {high:.2f} ms p50/p95"
            f"   CPU ms: {_split(searches.cpu_ms)}",
            flush=True,
        )

    def memory(self, name: str) -> None:
        """A row for what is resident now."""
        print(f"{name:22}{_split(resident_megabytes())} MB", flush=True)

    def expect(self, *, met: bool, bar: str) -> None:
        """Note a bar unless it is met."""
        if not met:
            self.missed.append(bar)


def _split(numbers: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {number:.1f}" for name, number in numbers.items() if number >= 0.05)


async def measure(corpus: Corpus | Texts, chunks: int, questions: int, drawn: Drawn | None) -> list[str]:
    """All stages, printed as they end; the bars that were missed."""
    table = Table()
    asked = [corpus.question(number) for number in range(WARM_UP + questions)]
    async with running_parts() as parts:
        # As each service does before it takes work.
        spare_collections()
        indexes = parts.follower("lexical")
        table.memory("memory at first")
        done = await ingest(parts, indexes, iter(corpus.documents(chunks)), chunks)
        table.work("ingest", done)
        table.expect(met=done.chunks / done.python >= BAR_INGEST, bar=f"ingest: {BAR_INGEST:.0f} chunks per CPU second")
        table.memory("memory after it")
        built = await rebuild(parts, parts.follower("anew"))
        table.work("index built anew", built)
        table.expect(met=built.seconds / built.chunks < BAR_REBUILD / 100_000, bar=f"anew: {BAR_REBUILD:.0f} s")
        words = await search_words(indexes, asked)
        table.searches("lexical leg", words)
        table.expect(met=words.percentile(0.5) <= BAR_WORDS, bar=f"lexical leg: {BAR_WORDS} ms")
        table.memory("memory after searches")
        if drawn is not None:
            table.work("vectors stored", await fill_vectors(parts, drawn))
            table.searches("question embedded", await embed_questions(parts, asked))
            embedders = with_drawn(parts.embedders, drawn, len(asked))
            table.searches("dense leg", await search_vectors(parts, embedders, asked))
            both = await search_both(parts, indexes, embedders, asked)
            table.searches("whole search", both)
            table.expect(met=both.percentile(0.5) <= BAR_BOTH, bar=f"whole search: {BAR_BOTH:.0f} ms")
            table.memory("memory at the end")
    return table.missed


def main() -> None:
    """Measure, print, and compare with the bars."""
    parser = argparse.ArgumentParser(description="Measures ingest and search of one large knowledge base.")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--eval", type=Path, help="folder of evaluation sets, whose texts are taken instead")
    parser.add_argument("--questions", type=int, default=500, help="per kind of search, after a warm-up")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--no-vectors", action="store_true", help="words only")
    kind.add_argument("--random-vectors", action="store_true", help="unlike those of any text: the hardest case")
    parser.add_argument("--one-core", action="store_true", help="servers and all on one core")
    options = parser.parse_args()
    if options.one_core:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    drawn = Random() if options.random_vectors else LikeText()
    corpus = Texts(options.eval) if options.eval else Corpus()
    missed = uvloop.run(measure(corpus, options.chunks, options.questions, None if options.no_vectors else drawn))
    print("\n".join(f"missed: {bar}" for bar in missed) or "all bars that were measured are met")
    sys.exit(1 if missed else 0)
