"""A pull consumer with a standing request: the server sends as many messages as there are free workers, at once.

nats-py's own `fetch` takes one round trip per message, or, for more than one, holds what came until the rest or its
time-out has come; a client that fetches ahead of its workers lets messages grow old in its queue. Here a request
stands at the server for exactly the free workers, and is renewed as they get free.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable

import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from citewire.runtime.bus import Bus
from citewire.runtime.provision import ConsumerSpec

log = structlog.get_logger()

# Seconds that a request stands before the server ends it with a word.
EXPIRES = 60.0
# The server says this often that a request still stands; silence means that it restarted and forgot it.
HEARTBEAT = 1.0
SILENCE = 2.5

# Seconds that handing messages back may take when a process stops.
HAND_BACK_LIMIT = 1.0

_SECOND = 1_000_000_000
_HEARTBEAT_STATUS = "100"
# How a request ends in the ordinary way: nothing there, or its time is over.
_ORDINARY_ENDS = frozenset({"404", "408"})


class PullConsumer:
    """Takes messages of one durable consumer, at most `spec.workers` at a time, and never more than that."""

    def __init__(self, bus: Bus, spec: ConsumerSpec, handle: Callable[[Msg], Awaitable[None]]) -> None:
        self._client = bus.client
        self._spec = spec
        self._handle = handle
        self._running: set[asyncio.Task[None]] = set()
        self._free = spec.workers
        # A request that was wrongly taken for forgotten brings more messages than there are workers.
        self._workers = asyncio.Semaphore(spec.workers)
        # Messages that the server may still send for the requests that stand.
        self._outstanding = 0
        self._heard = 0.0
        self._is_stopping = False
        self._subscription: Subscription | None = None
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to take messages."""
        self._inbox = self._client.new_inbox()
        self._subscription = await self._client.subscribe(self._inbox, cb=self._receive)
        await self._request()
        self._watching = asyncio.create_task(self._watch())

    async def stop(self, grace: float) -> None:
        """Take no more, and let running work end; what has not ended after `grace` seconds is handed back."""
        self._is_stopping = True
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        if self._subscription is not None:
            await _drain(self._subscription)
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=grace)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=HAND_BACK_LIMIT)

    async def _receive(self, message: Msg) -> None:
        self._heard = asyncio.get_running_loop().time()
        # A message can be acknowledged, whatever its headers say.
        if message.headers and "Status" in message.headers and not message.reply:
            await self._read_status(message.headers)
            return
        self._outstanding = max(0, self._outstanding - 1)
        if self._is_stopping:
            await message.nak()
            return
        self._free -= 1
        task = asyncio.create_task(self._work(message))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await self._top_up()

    async def _read_status(self, headers: dict[str, str]) -> None:
        """A request has ended: the server says with how many messages unsent."""
        if headers["Status"] == _HEARTBEAT_STATUS:
            return
        unsent = headers.get("Nats-Pending-Messages")
        self._outstanding = max(0, self._outstanding - int(unsent)) if unsent else 0
        # After a refusal the watch asks again: at once would be as fast as the server can refuse.
        if headers["Status"] in _ORDINARY_ENDS:
            await self._top_up()

    async def _work(self, message: Msg) -> None:
        try:
            async with self._workers:
                await self._handle(message)
        except asyncio.CancelledError:
            # The process stops: whoever takes over need not wait for the end of the window.
            await message.nak()
            raise
        except Exception:  # whatever it is, the message comes again and the consumer goes on
            log.exception("delivery failed", consumer=self._spec.durable, subject=message.subject)
        finally:
            self._free += 1
        await self._top_up()

    async def _top_up(self) -> None:
        """Ask for more once half of the workers are free and unasked for, or nothing stands."""
        free = self._free - self._outstanding
        if not self._is_stopping and free > 0 and (self._outstanding == 0 or free >= self._spec.workers // 2):
            await self._request()

    async def _request(self) -> None:
        batch = self._free - self._outstanding
        self._outstanding += batch
        self._heard = asyncio.get_running_loop().time()
        request = {
            "batch": batch,
            "expires": int(EXPIRES * _SECOND),
            "idle_heartbeat": int(HEARTBEAT * _SECOND),
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._spec.stream}.{self._spec.durable}"
        await self._client.publish(subject, json.dumps(request).encode(), self._inbox)

    async def _watch(self) -> None:
        """Ask anew for what the server refused, or forgot: it is silent, or the connection is another one."""
        reconnects = self._client.stats["reconnects"]
        while True:
            await asyncio.sleep(HEARTBEAT)
            if not self._client.is_connected:
                continue
            silence = asyncio.get_running_loop().time() - self._heard
            if silence > SILENCE or self._client.stats["reconnects"] != reconnects:
                reconnects = self._client.stats["reconnects"]
                self._outstanding = 0
            await self._top_up()


async def _drain(subscription: Subscription) -> None:
    """End a subscription; what has come by it already is handed back. A server that is away can't be told."""
    with contextlib.suppress(NatsError, TimeoutError):
        async with asyncio.timeout(HAND_BACK_LIMIT):
            await subscription.drain()  # type: ignore[no-untyped-call] # nats-py
