"""A folder that no other process uses: replicas on one machine may be given the same place."""

import contextlib
import fcntl
import itertools
from collections.abc import Generator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def own_folder(place: Path) -> Generator[Path]:
    """The first numbered folder in `place` that no living process holds; its contents are from an earlier run."""
    for number in itertools.count():
        folder = place / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            if _is_free(lock):
                yield folder
                return


def _is_free(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
