"""Small state that everyone needs at once, watched: a JetStream key-value bucket mirrored in memory."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import Any, Generic, TypeVar

import structlog
from nats.errors import Error as NatsError
from nats.js.errors import APIError, KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KV_DEL, KV_PURGE, KeyValue
from pydantic import BaseModel, ValidationError

from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError

M = TypeVar("M", bound=BaseModel)

log = structlog.get_logger()

# Seconds before a watch that failed is tried again.
WATCH_PAUSE = 1.0
# The server's codes for "the subject has a later message" (error 10164 where it names no number).
WRONG_LAST_SEQUENCE = (10071, 10164)


class Registry(Generic[M]):
    """A bucket whose entries are models of one class; reading costs a dictionary look-up.

    What goes past the mirror raises TransientError when NATS is away.
    """

    def __init__(self, bucket: KeyValue, model: type[M]) -> None:
        self._bucket = bucket
        self._model = model
        self._entries: dict[str, M] = {}
        self._changed = asyncio.Condition()

    @property
    def entries(self) -> Mapping[str, M]:
        """All entries as last seen."""
        return self._entries

    async def put(self, key: str, entry: M) -> None:
        """Write an entry; seen here and everywhere a moment later."""
        with _translated():
            await self._bucket.put(key, entry.model_dump_json().encode())

    async def read(self, key: str) -> M | None:
        """One entry from the server, past the mirror: for the moment after another process wrote it."""
        with _translated():
            return (await self._newest(key))[0]

    async def change(self, key: str, choose: Callable[[M | None], M | None]) -> None:
        """Write what `choose` makes of an entry as the server has it; None stands for no entry.

        It chooses again when another process wrote in between.
        """
        written = False
        while not written:
            with _translated():
                current, revision = await self._newest(key)
                chosen = choose(current)
                written = chosen == current or await self._replace(key, chosen, revision)

    async def remove(self, key: str) -> None:
        """Remove an entry, if there."""
        with _translated():
            await self._bucket.delete(key)

    async def wait_for(self, key: str, *, present: bool, timeout: float = 2.0) -> None:  # noqa: ASYNC109
        """Return when the mirror shows a key (or shows it gone); raises TimeoutError."""
        await self.wait_until(lambda entries: (key in entries) is present, timeout)

    async def wait_until(self, holds: Callable[[Mapping[str, M]], bool], timeout: float = 2.0) -> None:  # noqa: ASYNC109
        """Return when something holds of all entries; raises TimeoutError."""
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: holds(self._entries))

    async def follow(self, bus: Bus, loaded: asyncio.Event) -> None:
        """Mirror the bucket until cancelled, over restarts of the server; `loaded` is set at the first picture."""
        while True:
            renewal = bus.renewal
            mirroring, renewing = asyncio.create_task(self._mirror(loaded)), asyncio.create_task(renewal.wait())
            try:
                await asyncio.wait((mirroring, renewing), return_when=asyncio.FIRST_COMPLETED)
            finally:
                await _end(mirroring, renewing)
            if not renewal.is_set():
                log.warning("a bucket is watched anew", error=repr(_error_of(mirroring)))
                await asyncio.sleep(WATCH_PAUSE)

    async def _mirror(self, loaded: asyncio.Event) -> None:
        """Follow the bucket: all that it has, which replaces what was mirrored, and then each change."""
        watcher = await self._bucket.watchall()
        seen: set[str] | None = set()
        try:
            async for update in watcher:
                async with self._changed:
                    if update is not None:
                        self._apply(update.key, update.operation, update.value)
                        if seen is not None:
                            seen.add(update.key)
                    elif seen is not None:
                        self._keep_only(seen)
                        seen = None
                        loaded.set()
                    self._changed.notify_all()
        finally:
            with contextlib.suppress(NatsError):
                await watcher.stop()  # type: ignore[no-untyped-call] # nats-py

    def _keep_only(self, keys: set[str]) -> None:
        """Forget entries that the bucket has lost since they were mirrored."""
        for key in self._entries.keys() - keys:
            del self._entries[key]

    async def _newest(self, key: str) -> tuple[M | None, int]:
        """An entry and its revision: 0 where there never was one, a removal's own where it is gone."""
        try:
            entry = await self._bucket.get(key)
        except KeyNotFoundError as error:
            return None, error.entry.revision if error.entry else 0
        return self._parse(key, entry.value), entry.revision or 0

    async def _replace(self, key: str, entry: M | None, revision: int) -> bool:
        """Write an entry, or remove it, unless the server has a revision later than this one."""
        try:
            if entry is None:
                await self._bucket.delete(key, last=revision)
            else:
                await self._bucket.update(key, entry.model_dump_json().encode(), last=revision)
        except KeyWrongLastSequenceError:
            return False
        except APIError as error:
            # What nats-py translates for an update it leaves as it is for a removal.
            if error.err_code not in WRONG_LAST_SEQUENCE:
                raise
            return False
        return True

    def _apply(self, key: str, operation: str | None, value: bytes | None) -> None:
        if operation in (KV_DEL, KV_PURGE):
            self._entries.pop(key, None)
        elif (entry := self._parse(key, value)) is not None:
            self._entries[key] = entry

    def _parse(self, key: str, value: bytes | None) -> M | None:
        try:
            return self._model.model_validate_json(value or b"")
        except ValidationError:
            log.exception("unreadable entry in a bucket", key=key)
            return None


@contextlib.contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except (NatsError, TimeoutError) as error:
        raise TransientError(f"bucket: {str(error) or type(error).__name__}") from error


async def _end(*tasks: "asyncio.Task[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _error_of(task: "asyncio.Task[None]") -> BaseException | None:
    return None if task.cancelled() else task.exception()


@contextlib.asynccontextmanager
async def watch(bus: Bus, bucket: str, model: type[M]) -> AsyncGenerator[Registry[M]]:
    """A registry that is complete when the block begins and follows changes until it ends."""
    with _translated():
        registry = Registry(await bus.js.key_value(bucket), model)
    loaded = asyncio.Event()
    following = asyncio.create_task(registry.follow(bus, loaded))
    try:
        async with asyncio.timeout(10):
            await loaded.wait()
        yield registry
    finally:
        await _end(following)
