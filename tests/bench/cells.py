"""Each layout at each concurrency: measured, printed as a row, and compared with the bars."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import uvloop

from bench.cpu import cpu_seconds
from bench.layouts import LAYOUTS, Chain, running_chain
from bench.load import Timing, ask_many

WARM_UP = 50
# The bars: all-in-one at this concurrency, in CPU milliseconds per question and in multiples of the floor.
BAR_LAYOUT, BAR_CONCURRENCY = "all-in-one", 16
BAR_MS = 12.0
BAR_RATIO = 2.2

HEADER = (
    f"{'layout':17}{'conc.':>6} {'first ms p50/p95':>17} {'total ms p50/p95':>17}"
    f"{'q/s':>6}{'CPU ms/q':>10}{'x floor':>9}  split"
)


@dataclass(frozen=True)
class Cell:
    """One measurement; CPU in milliseconds per question, by group of processes."""

    layout: str
    concurrency: int
    timings: Sequence[Timing]
    seconds: float
    cpu: dict[str, float]

    @property
    def cpu_ms(self) -> float:
        """All groups together."""
        return sum(self.cpu.values())


async def measure(layouts: Sequence[str], concurrencies: Sequence[int], questions: int) -> list[Cell]:
    """All cells, printed as they come."""
    cells: list[Cell] = []
    print(HEADER)
    for layout in layouts:
        async with running_chain(LAYOUTS[layout]) as chain:
            for concurrency in concurrencies:
                cells.append(await _measure_cell(chain, layout, concurrency, questions))
                print(_row(cells[-1], _floor_of(cells[-1], cells)), flush=True)
    return cells


async def _measure_cell(chain: Chain, layout: str, concurrency: int, questions: int) -> Cell:
    await ask_many(chain.port, chain.key, WARM_UP, concurrency)
    before, started = cpu_seconds(chain.groups), time.perf_counter()
    timings = await ask_many(chain.port, chain.key, questions, concurrency)
    seconds, after = time.perf_counter() - started, cpu_seconds(chain.groups)
    cpu = {name: (after[name] - before[name]) * 1000 / questions for name in chain.groups}
    return Cell(layout, concurrency, timings, seconds, cpu)


def _floor_of(cell: Cell, cells: Sequence[Cell]) -> Cell | None:
    same = (other for other in cells if other.layout == "floor" and other.concurrency == cell.concurrency)
    return next(same, None)


def _row(cell: Cell, floor: Cell | None) -> str:
    ratio = f"{cell.cpu_ms / floor.cpu_ms:.2f}" if floor else "-"
    split = "  ".join(f"{name} {milliseconds:.1f}" for name, milliseconds in cell.cpu.items())
    first, total = [t.first for t in cell.timings], [t.total for t in cell.timings]
    return (
        f"{cell.layout:17}{cell.concurrency:>6} {_percentiles(first):>17} {_percentiles(total):>17}"
        f"{len(cell.timings) / cell.seconds:>6.0f}{cell.cpu_ms:>10.1f}{ratio:>9}  {split}"
    )


def _percentiles(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    middle, high = (ordered[int(len(ordered) * share)] * 1000 for share in (0.5, 0.95))
    return f"{middle:.1f} / {high:.1f}"


def missed_bars(cells: Sequence[Cell]) -> Iterator[str]:
    """What is over its bar, of the bars whose cells were measured."""
    for cell in cells:
        if (cell.layout, cell.concurrency) != (BAR_LAYOUT, BAR_CONCURRENCY):
            continue
        where = f"{cell.layout} at {cell.concurrency}"
        if cell.cpu_ms > BAR_MS:
            yield f"{where}: {cell.cpu_ms:.1f} ms of CPU per question, the bar is {BAR_MS}"
        floor = _floor_of(cell, cells)
        if floor and cell.cpu_ms > BAR_RATIO * floor.cpu_ms:
            yield f"{where}: {cell.cpu_ms / floor.cpu_ms:.2f} times the floor, the bar is {BAR_RATIO}"


def main() -> None:
    """Measure, print, and compare with the bars."""
    parser = argparse.ArgumentParser(description="Measures the chain against a raw floor.")
    parser.add_argument("--questions", type=int, default=300, help="per cell, after a warm-up")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    options = parser.parse_args()
    cells = uvloop.run(measure(options.layouts, options.concurrency, options.questions))
    missed = list(missed_bars(cells))
    print("\n".join(f"missed: {bar}" for bar in missed) or "all bars that were measured are met")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
