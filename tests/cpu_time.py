"""How much work something is, told by the CPU time that it takes: for comparing sizes of input, not for speed."""

import gc
import time
from collections.abc import Callable

_RUNS = 2


def cpu_seconds(work: Callable[[], object]) -> float:
    """The least CPU time of a few runs: what else the machine and the garbage collector do only ever adds to it."""
    gc.collect()
    gc.disable()
    try:
        return min(_once(work) for _ in range(_RUNS))
    finally:
        gc.enable()


def _once(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
