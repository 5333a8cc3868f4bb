"""One run of the stream benchmark by a gateway, a writer and a reader: measured, printed, compared with the bars."""

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson
import uvloop

from bench.cpu import cpu_seconds
from bench.layouts import TESTS, Chain, running_chain
from bench.stream_answers import REPLAYED_DELTAS

GATEWAY = {"gateway": ["bench.chain_roles", "gateway"]}
# The bars: CPU of the gateway process, and a replay.
BAR_US = 40.0
BAR_REPLAY_MS = 100.0


@dataclass(frozen=True)
class Load:
    """How many answers at once, for how many seconds, at how many deltas per second, of which so many per append."""

    streams: int
    seconds: int
    rate: int
    batch: int

    @property
    def deltas(self) -> int:
        """The deltas of one answer."""
        return self.seconds * self.rate // self.batch * self.batch


@dataclass(frozen=True)
class Result:
    """What came of a load; all times in seconds."""

    load: Load
    seconds: float
    cpu: dict[str, float]
    delays: Sequence[float]
    replays: Sequence[float]

    def cpu_us(self, group: str) -> float:
        """Microseconds of CPU per delta."""
        return self.cpu[group] * 1e6 / (self.load.streams * self.load.deltas)


async def measure(load: Load) -> Result:
    """Run a load; raises SystemExit when a stream was not complete and in order."""
    async with running_chain(GATEWAY) as chain:
        with _process("stream_writer", chain.redis_url, load.streams, load.seconds, load.rate, load.batch) as writer:
            _line(writer, "ready")
            with _process("stream_reader", chain.port, chain.key, load.streams, load.deltas) as reader:
                _line(reader, "ready")
                return _measure(load, chain, writer, reader)


def _measure(load: Load, chain: Chain, writer: "subprocess.Popen[str]", reader: "subprocess.Popen[str]") -> Result:
    before = cpu_seconds(chain.groups)
    print("go", file=writer.stdin, flush=True)
    seconds = float(_line(writer))
    delays = orjson.loads(_line(reader))
    after = cpu_seconds(chain.groups)
    replays = orjson.loads(_line(reader))
    return Result(load, seconds, {name: after[name] - before[name] for name in chain.groups}, delays, replays)


@contextlib.contextmanager
def _process(module: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", f"bench.{module}", *map(str, arguments)]
    with subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def _line(process: "subprocess.Popen[str]", expected: str = "") -> str:
    line = process.stdout.readline() if process.stdout else ""
    if not line.startswith(expected) or not line:
        raise SystemExit(f"{process.args!r} said {line!r}")
    return line


def report(result: Result) -> str:
    """The result for people."""
    load = result.load
    delivered = load.streams * load.deltas
    cpu = "  ".join(f"{name} {result.cpu_us(name):.1f}" for name in result.cpu)
    return "\n".join(
        (
            f"{load.streams} streams, {delivered} deltas, all in order, in {result.seconds:.1f} s",
            f"deltas/s: {delivered / result.seconds:.0f}, asked for were {load.streams * load.rate}",
            f"CPU us per delta: {cpu}",
            f"from append to client, ms p50/p95/p99: {_percentiles(result.delays)}",
            f"replay of {REPLAYED_DELTAS} deltas, ms p50/p95/p99: {_percentiles(result.replays)}",
        )
    )


def _percentiles(seconds: Sequence[float]) -> str:
    return " / ".join(f"{_percentile(seconds, share) * 1000:.1f}" for share in (0.5, 0.95, 0.99))


def _percentile(seconds: Sequence[float], share: float) -> float:
    return sorted(seconds)[int(len(seconds) * share)]


def missed_bars(result: Result) -> Iterator[str]:
    """What is over its bar."""
    if (cpu := result.cpu_us("gateway")) > BAR_US:
        yield f"the gateway takes {cpu:.1f} us of CPU per delta, the bar is {BAR_US}"
    if (replay := _percentile(result.replays, 0.5) * 1000) > BAR_REPLAY_MS:
        yield f"a replay takes {replay:.1f} ms, the bar is {BAR_REPLAY_MS}"


def main() -> None:
    """Measure, print, and compare with the bars."""
    parser = argparse.ArgumentParser(description="Measures what open streams cost the gateway.")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rate", type=int, default=20, help="deltas per second of each stream")
    parser.add_argument("--batch", type=int, default=1, help="deltas that a writer appends at once")
    options = parser.parse_args()
    result = uvloop.run(measure(Load(**vars(options))))
    print(report(result))
    missed = list(missed_bars(result))
    print("\n".join(f"missed: {bar}" for bar in missed) or "all bars are met")
    sys.exit(1 if missed else 0)
