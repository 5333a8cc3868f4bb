"""Files that are made once and kept."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from retriever.embedding.embedder import EmbedderUnavailable


def cached(path: Path, make: Callable[[], bytes]) -> Path:
    """The file with what `make` gives, made if it is not there yet; safe beside others that do the same.

    Raises EmbedderUnavailable where it cannot be made.
    """
    if not path.exists():
        try:
            _write(path, make())
        except ImportError as error:
            raise EmbedderUnavailable(f"the package {error.name} is not installed here") from error
        except OSError as error:
            raise EmbedderUnavailable(f"{path} cannot be written: {error.strerror}") from error
    return path


def _write(path: Path, data: bytes) -> None:
    """All of it or nothing, even if the power fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}-", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise
