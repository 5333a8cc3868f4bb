"""The command line of the long form."""

import argparse
import asyncio
import secrets
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from chaos.campaign import every_fault_once, kills_at_random
from chaos.cluster import Cluster, running_cluster
from chaos.leaks import leaks_over
from chaos.report import Report

# Seconds before each piece of an answer: some two seconds for a whole one.
PAUSE = 0.02


def main() -> int:
    """Run what was asked for, print what was seen, and return the process' exit code."""
    options = _options()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="citewire-chaos-"))
    seed = options.seed if options.seed is not None else secrets.randbelow(10_000)
    runs: dict[str, tuple[float, Callable[[Cluster], Awaitable[Report]]]] = {}
    if options.every_fault:
        runs["every fault once"] = (PAUSE, every_fault_once)
    if options.questions:
        runs[f"kills at random, seed {seed}"] = (PAUSE, lambda c: kills_at_random(c, seed, options.questions))
    if options.leak_questions:
        runs["leaks"] = (0.0, lambda c: leaks_over(c, options.leak_questions))
    failed = [not _run(name, folder / f"run-{number}", *run) for number, (name, run) in enumerate(runs.items())]
    return int(any(failed))


def _run(name: str, folder: Path, pause: float, judge: Callable[[Cluster], Awaitable[Report]]) -> bool:
    """Run on a cluster of its own; whether all held."""
    folder.mkdir(parents=True)
    sys.stdout.write(f"== {name}; logs in {folder}\n")
    sys.stdout.flush()

    async def judged() -> Report:
        return await judge(cluster)

    with running_cluster(folder, pause) as cluster:
        report = asyncio.run(judged())
    sys.stdout.write("\n".join([*report.lines(), "", ""]))
    return not report.violations


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kill things under load and see whether the guarantees hold.")
    parser.add_argument("--seed", type=int, help="of the kills at random; drawn when it is not given")
    parser.add_argument("--questions", type=int, default=500, help="accepted under kills at random; 0: none")
    parser.add_argument("--leak-questions", type=int, default=2000, help="without faults, watching for leaks; 0: none")
    parser.add_argument("--no-every-fault", dest="every_fault", action="store_false", help="leave those out")
    parser.add_argument("--folder", type=Path, help="where servers and processes keep data and logs")
    return parser.parse_args()
