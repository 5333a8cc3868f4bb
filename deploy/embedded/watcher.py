"""A script that outlives its parent by a moment, to stop the servers which a killed parent can't stop any more.

It reads lines `<process id> <stop signal>` from its standard input; signal 0 means that the process has ended and its
id may be somebody else's from now on. The input ends when the parent does, however it ends.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable

# Seconds from the stop signal to SIGKILL, as in an orderly stop.
GRACE = 10.0
POLL_INTERVAL = 0.02


def main(lines: Iterable[bytes]) -> None:
    """Keep the list of running servers until the input ends, then stop what is on it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    running: dict[int, int] = {}
    for line in lines:
        process, stop_signal = map(int, line.split())
        running[process] = stop_signal
        if not stop_signal:
            del running[process]
    _stop(running)


def _stop(running: dict[int, int]) -> None:
    left = [process for process, stop_signal in running.items() if _send(process, stop_signal)]
    deadline = time.monotonic() + GRACE
    while left and time.monotonic() < deadline:
        time.sleep(POLL_INTERVAL)
        left = [process for process in left if _send(process, 0)]
    for process in left:
        _send(process, signal.SIGKILL)


def _send(process: int, number: int) -> bool:
    """Whether the process is there and ours."""
    try:
        os.kill(process, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    main(sys.stdin.buffer)
