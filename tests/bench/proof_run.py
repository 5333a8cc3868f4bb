"""One run of the proof benchmark: quotes made from evaluation texts, judged, timed, compared with the bars."""

import argparse
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.texts import SETS
from citewire.contracts.evidence import Verdict
from generator.citations.verify import Proof, Prover
from quote_variations import Sample, make_samples

SOURCES = 30
SOURCE_CHARACTERS = 1_200
LONG_SOURCE, LONG_QUOTE, LONG_QUOTES = 20_000, 2_000, 100
# The bars: the share of right verdicts, and CPU per citation.
BAR_RIGHT = 0.99
BAR_MS = 2.0

PROVED = {Verdict.EXACT, Verdict.NORMALISED}


@dataclass(frozen=True)
class Case:
    """Thirty sources, and samples of quotes from them."""

    dataset: str
    texts: Mapping[int, str]
    samples: Sequence[Sample]


@dataclass(frozen=True)
class Judged:
    """A sample, what was said of it, and the seconds of CPU that it took."""

    sample: Sample
    proof: Proof
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether the verdict is right, and the place too."""
        sample, proof = self.sample, self.proof
        if proof.verdict not in sample.right:
            return False
        if proof.verdict is Verdict.MISATTRIBUTED:
            piece = proof.pieces[0]
            return (piece.number, (piece.start, piece.end)) == (sample.place_number, sample.place)
        return sample.place is None or (proof.start, proof.end) == sample.place


def make_cases(folder: Path, quotes: int, seed: int) -> list[Case]:
    """Cases from all sets in turn, until they have so many quotes."""
    cases, made = list[Case](), 0
    chance = random.Random(seed)  # noqa: S311 - the same quotes in each run
    corpora = {name: _read(folder / name) for name in SETS if (folder / name).is_dir()}
    if not corpora:
        sys.exit(f"{folder} has none of the sets: {', '.join(SETS)}")
    while made < quotes:
        for name, documents in corpora.items():
            chosen = chance.sample(documents, SOURCES + 5)
            texts = dict(enumerate(chosen[:SOURCES], start=1))
            samples = list(make_samples(texts, chosen[SOURCES:], seed + len(cases)))[: max(0, quotes - made)]
            cases.append(Case(name, texts, samples))
            made += len(samples)
    return cases


def _read(folder: Path) -> list[str]:
    with (folder / "corpus.jsonl").open("rb") as lines:
        texts = (orjson.loads(line)["text"][:SOURCE_CHARACTERS] for line in lines)
        return [text for text in texts if len(text) > 100]


def judge(case: Case) -> Iterator[Judged]:
    """The verdicts on a case's quotes, as those of one answer."""
    prover = Prover(case.texts)
    for sample in case.samples:
        start = time.process_time()
        proof = prover.prove(sample.quote, sample.number)
        yield Judged(sample, proof, time.process_time() - start)


def time_worst(folder: Path, seed: int) -> tuple[float, float]:
    """Milliseconds to prepare 30 sources of 20,000 characters, and for each of 100 quotes of 2,000 characters."""
    chance = random.Random(seed)  # noqa: S311 - the same quotes in each run
    texts = [
        "\n".join(_read(path.parent)) for path in sorted(folder.glob("*/corpus.jsonl")) if path.parent.name in SETS
    ]
    slices = [(text, chance.randrange(max(1, len(text) - LONG_SOURCE))) for text in chance.choices(texts, k=SOURCES)]
    sources = {number: text[start : start + LONG_SOURCE] for number, (text, start) in enumerate(slices, start=1)}
    prover, begun = Prover(sources), time.process_time()
    prover.prove("stands nowhere in here", 1)
    prepared = time.process_time()
    for index in range(LONG_QUOTES):
        number = index % SOURCES + 1
        start = chance.randrange(LONG_SOURCE - LONG_QUOTE)
        quote = sources[number][start : start + LONG_QUOTE]
        other = sources[chance.choice(list(sources))][: LONG_QUOTE // 2]
        changes = (quote, f"{quote}x", quote[: LONG_QUOTE // 2] + other, f"{quote[:-9]} 7 {quote[-9:]}", quote[::-1])
        prover.prove(changes[index % len(changes)], number)
    return (prepared - begun) * 1e3, (time.process_time() - prepared) * 1e3 / LONG_QUOTES


def print_table(judged: Sequence[Judged]) -> None:
    """What was said of the quotes of each kind."""
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for one in judged:
        said[one.sample.kind]["right" if one.is_right else "wrong"] += 1
        said[one.sample.kind][one.proof.verdict] += 1
    columns = ["right", "wrong", *Verdict]
    print(f"{'':20}" + "".join(f"{column:>15}" for column in columns))
    for kind, counts in said.items():
        print(f"{kind:20}" + "".join(f"{counts[column] or '':>15}" for column in columns))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measures how well quotes are proved, and what that costs.")
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation sets")
    parser.add_argument("--quotes", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print each wrong verdict")
    options = parser.parse_args()
    cases = make_cases(options.eval, options.quotes, options.seed)
    judged = [one for case in cases for one in judge(case)]
    print_table(judged)
    wrong = [one for one in judged if not one.is_right]
    for one in wrong if options.show else ():
        print(one.sample, one.proof, sep="\n    ")
    share = 1 - len(wrong) / len(judged)
    proved = sum(one.proof.verdict in PROVED for one in judged if one.sample.right.isdisjoint(PROVED))
    milliseconds = sorted(one.seconds * 1e3 for one in judged)
    mean, worst = sum(milliseconds) / len(milliseconds), milliseconds[len(milliseconds) * 99 // 100]
    print(f"{len(judged)} quotes of {len(cases)} answers: {share:.2%} right; changed and yet proved: {proved}")
    print(f"CPU per citation: {mean:.2f} ms on average, sources' preparation included; 99 of 100 within {worst:.2f} ms")
    prepared, each = time_worst(options.eval, options.seed)
    print(f"Thirty sources of 20,000 characters: {prepared:.0f} ms to prepare, {each:.2f} ms for a quote of 2,000")
    sys.exit(share < BAR_RIGHT or proved > 0 or mean > BAR_MS)
