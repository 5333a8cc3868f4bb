"""Brings a service's own schema up to date: SQL files run by yoyo, one process at a time."""

import asyncio
from pathlib import Path

import psycopg
import psycopg.sql
import yoyo  # type: ignore[import-untyped] # has no annotations

# First half of the advisory lock's key; the second is the schema's hash.
_LOCK_SPACE = 0x63697465


async def migrate(dsn: str, schema: str, folder: Path) -> None:
    """Apply the migrations of `folder` (`0001_….sql`, each with its `.rollback.sql`) that `schema` lacks."""
    await asyncio.to_thread(apply_migrations, dsn, schema, folder)


def apply_migrations(dsn: str, schema: str, folder: Path) -> None:
    """The same, blocking. Every process calls it at start; a Postgres lock lets one through at a time.

    yoyo's own lock is a row that a killed process leaves behind; a session's advisory lock ends with it.
    """
    with psycopg.connect(dsn, autocommit=True) as lock:
        lock.execute("select pg_advisory_lock(%s, hashtext(%s))", (_LOCK_SPACE, schema))
        lock.execute(psycopg.sql.SQL("create schema if not exists {}").format(psycopg.sql.Identifier(schema)))
        with yoyo.get_backend(_yoyo_url(dsn, schema)) as backend:
            # In a schema's very first run yoyo takes its own lock all the same.
            backend.break_lock()
            backend.apply_migrations(backend.to_apply(yoyo.read_migrations(str(folder))))


def roll_back(dsn: str, schema: str, folder: Path) -> None:
    """Undo all migrations of `folder`, newest first."""
    with yoyo.get_backend(_yoyo_url(dsn, schema)) as backend:
        backend.rollback_migrations(backend.to_rollback(yoyo.read_migrations(str(folder))))


def _yoyo_url(dsn: str, schema: str) -> str:
    separator = "&" if "?" in dsn else "?"
    return dsn.replace("postgresql://", "postgresql+psycopg://", 1) + f"{separator}schema={schema}"
