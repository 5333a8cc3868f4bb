"""Where on this machine the worker of a model is to be found."""

import contextlib
import hashlib
import os
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from retriever.embedding import e5
from retriever.embedding.embedder import EmbedderUnavailable
from retriever.embedding.settings import BundledSettings, LocalSettings

# Bytes that every system takes for the address of a socket (Linux has 107, macOS 103).
_LONGEST_ADDRESS = 100
# What makes no difference to vectors.
_INDIFFERENT = {"passage_threads"}


@dataclass(frozen=True)
class Place:
    """The files of one worker: they share a stem in a folder that is their owner's alone."""

    folder: Path
    stem: str

    @classmethod
    def of(cls, settings: LocalSettings, data_dir: Path) -> "Place":
        """The same for all that want the same vectors: not for two releases that make different ones."""
        model = e5.NAME if isinstance(settings, BundledSettings) else settings.model_dump_json(exclude=_INDIFFERENT)
        stem = f"{settings.kind}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"
        return cls(data_dir.absolute() / "embedding", stem)

    @property
    def socket(self) -> Path:
        return self.folder / f"{self.stem}.sock"

    @property
    def lock(self) -> Path:
        """Held by the worker while it lives."""
        return self.folder / f"{self.stem}.lock"

    @property
    def log(self) -> Path:
        """What the worker prints: nothing, unless something is wrong."""
        return self.folder / f"{self.stem}.log"

    def prepare(self) -> None:
        """Make the folder; raises EmbedderUnavailable."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
        except OSError as error:
            raise EmbedderUnavailable(f"{self.folder} cannot be used: {error.strerror}") from error

    @contextlib.contextmanager
    def address(self) -> Generator[str]:
        """The socket's path, or, where that is too long for a socket, a shorter one; raises EmbedderUnavailable."""
        if len(os.fsencode(self.socket)) <= _LONGEST_ADDRESS:
            yield str(self.socket)
            return
        if sys.platform != "linux":
            raise EmbedderUnavailable(f"{self.socket} is too long for a socket: choose a shorter data_dir")
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{folder}/{self.socket.name}"
        finally:
            os.close(folder)
