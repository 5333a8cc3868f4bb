"""Latency from the model to the client, CPU of the generator per delta, CPU of the whole chain per question."""

import argparse
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product

import uvloop
from cryptography.fernet import Fernet

from bench.cpu import cpu_seconds
from bench.layouts import running_chain
from bench.load import ask_many
from bench.model_answers import reply
from bench.model_chain import CONCURRENCY, PIECES, Stage, running_stage
from citewire.contracts.providers import AnswerForm, Protocol
from citewire.runtime.settings import ROLES

BAR_LATENCY = 30.0  # ms, at the 95th of 100
BAR_FLAT = 1.1
BAR_CPU = 15.0  # ms
LENGTHS = (50, 525, 1000)
# What a fast model leaves between two pieces.
FAST = 0.002
KINDS = [(protocol, form) for protocol in Protocol for form in AnswerForm]
OTHERS = [role for role in ROLES if role != "generator"]


async def latency(questions: int, _: int) -> Iterator[str]:
    """Each interface in each form; what missed its bar."""
    missed = []
    print(f"{'first delta after the first piece':36}{'p50 ms':>8}{'p95 ms':>8}")
    async with running_stage({"services": ["bench.model_roles", *ROLES]}) as stage:
        for protocol, form in KINDS:
            await stage.use(protocol, form)
            ordered = sorted(await stage.latencies(questions))
            middle, high = (ordered[int(len(ordered) * share)] for share in (0.5, 0.95))
            print(f"{f'{protocol}, {form}':36}{middle:>8.1f}{high:>8.1f}", flush=True)
            if high > BAR_LATENCY:
                missed.append(f"{protocol}, {form}: {high:.1f} ms, the bar is {BAR_LATENCY}")
    return iter(missed)


async def deltas(questions: int, rounds: int) -> Iterator[str]:
    """What one more delta costs the generator, among few and among many; what missed its bar."""
    missed = []
    print(f"{'one more delta in the generator':36}{'first µs':>10}{'last µs':>10}{'x':>7}")
    async with running_stage(
        {"generator": ["bench.model_roles", "generator"], "others": ["bench.model_roles", *OTHERS]}
    ) as stage:
        for protocol, form in KINDS:
            await stage.use(protocol, form)
            first, last = await _growth(stage, max(questions // 2, 1), rounds)
            print(f"{f'{protocol}, {form}':36}{first:>10.0f}{last:>10.0f}{last / first:>7.2f}", flush=True)
            if last / first > BAR_FLAT:
                missed.append(f"{protocol}, {form}: a delta among the last costs {last / first:.2f} times the first")
    return iter(missed)


async def _growth(stage: Stage, questions: int, rounds: int) -> tuple[float, float]:
    """Microseconds per delta between the first two lengths, and between the last two."""
    groups = {"generator": stage.chain.groups["generator"]}
    costs = [
        [(await stage.cost(groups, questions, length, FAST))["generator"] for length in LENGTHS] for _ in range(rounds)
    ]
    few, more, many = (statistics.median(column) for column in zip(*costs, strict=True))
    return (more - few) * 1000 / (LENGTHS[1] - LENGTHS[0]), (many - more) * 1000 / (LENGTHS[2] - LENGTHS[1])


async def chain(questions: int, rounds: int) -> Iterator[str]:
    """What an answer of an instant model costs all processes but the model's, beside a text that costs nothing."""
    missed = []
    print(f"{f'a question of {PIECES} pieces':36}{'CPU ms':>8}{'x fixed':>9}  split")
    fixed = await _fixed_cost(questions * rounds)
    _print_cost("a fixed text, no model", fixed, fixed)
    async with running_stage({"services": ["bench.model_roles", *ROLES]}) as stage:
        for (protocol, form), at_once in product(KINDS, [False, True]):
            stage.model.always(partial(reply, at_once=at_once))
            await stage.use(protocol, form)
            name = f"{protocol}, {form}{', in one chunk' if at_once else ''}"
            cost = await stage.cost(stage.chain.groups, questions * rounds, PIECES)
            _print_cost(name, cost, fixed)
            if sum(cost.values()) > BAR_CPU:
                missed.append(f"{name}: {sum(cost.values()):.1f} ms per question, the bar is {BAR_CPU}")
    return iter(missed)


async def _fixed_cost(questions: int) -> dict[str, float]:
    async with running_chain({"services": ["bench.chain_roles", *ROLES]}) as fixed:
        await ask_many(fixed.port, fixed.key, CONCURRENCY * 2, CONCURRENCY)
        before = cpu_seconds(fixed.groups)
        await ask_many(fixed.port, fixed.key, questions, CONCURRENCY)
        after = cpu_seconds(fixed.groups)
        return {name: (after[name] - before[name]) * 1000 / questions for name in fixed.groups}


def _print_cost(name: str, cost: Mapping[str, float], fixed: Mapping[str, float]) -> None:
    total = sum(cost.values())
    split = "  ".join(f"{group} {milliseconds:.1f}" for group, milliseconds in cost.items())
    print(f"{name:36}{total:>8.1f}{total / sum(fixed.values()):>9.2f}  {split}", flush=True)


PARTS = {"latency": latency, "deltas": deltas, "chain": chain}


async def _measure(names: Sequence[str], questions: int, rounds: int) -> list[str]:
    return [missed for name in names for missed in await PARTS[name](questions, rounds)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="What do answers by a model cost, and how late are they?")
    parser.add_argument("--questions", type=int, default=40, help="per measurement")
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement of CPU")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    os.environ["CITEWIRE_MASTER_KEY"] = Fernet.generate_key().decode()
    missed = uvloop.run(_measure(options.only, options.questions, options.rounds))
    print("\n".join(f"missed: {bar}" for bar in missed) or "all bars that were measured are met")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
