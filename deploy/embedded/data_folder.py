"""The data folder's lock: one local stack at a time, until the last of its servers has gone."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from embedded.errors import EmbeddedError
from embedded.watcher import GRACE

POLL_INTERVAL = 0.02


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Hold the folder's lock and hand out its file descriptor; raises EmbeddedError where another stack holds it.

    The servers inherit the descriptor, so that the lock outlives a killed owner until they have stopped, too.
    """
    # Others may pass through and see nothing: as root, a server that runs as nobody must reach its own folder.
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor, folder)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    # The watcher kills what is left after the grace.
    deadline = time.monotonic() + GRACE + 2
    while not _try_lock(descriptor):
        owner = _owner(descriptor)
        if owner and _is_alive(owner):
            raise EmbeddedError(f"The data folder {folder} is in use by process {owner}: set CITEWIRE_DATA_DIR.")
        if time.monotonic() > deadline:
            raise EmbeddedError(
                f"The data folder {folder} is in use by servers that a killed process left behind: end them, "
                "or set CITEWIRE_DATA_DIR."
            )
        time.sleep(POLL_INTERVAL)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(descriptor: int) -> int | None:
    content = os.pread(descriptor, 20, 0)
    return int(content) if content.isdigit() else None


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
