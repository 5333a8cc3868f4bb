"""Listens to the bus: what was published, to be published again."""

import contextlib
from collections import defaultdict, deque
from collections.abc import AsyncGenerator
from uuid import uuid4

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from citewire.contracts.events import InteractionFinished, QuestionAsked, QuestionRejected, RetrievalPlanned

# Messages that are remembered per kind of event.
REMEMBERED = 50
KINDS = (QuestionAsked, RetrievalPlanned, InteractionFinished, QuestionRejected)


class Tap:
    """The newest messages by event, and a way to publish."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.js: JetStreamContext = client.jetstream()
        self.newest: defaultdict[str, deque[Msg]] = defaultdict(lambda: deque(maxlen=REMEMBERED))

    async def publish(self, subject: str, data: bytes) -> None:
        """Put a message on the bus under an id that the stream has never seen."""
        await self.js.publish(subject, data, headers={"Nats-Msg-Id": uuid4().hex})

    async def _take(self, message: Msg) -> None:
        kind = next((kind for kind in KINDS if message.subject.startswith(kind.subject)), None)
        if kind is None or message.data.startswith(b"{bad"):
            return
        self.newest[kind.subject].append(message)


@contextlib.asynccontextmanager
async def tapping(url: str) -> AsyncGenerator[Tap]:
    """Listen for as long as the block lasts."""

    async def ignore(_: Exception) -> None:
        pass

    client = await nats.connect(url, max_reconnect_attempts=-1, reconnect_time_wait=0.2, error_cb=ignore)
    tap = Tap(client)
    await client.subscribe("qa.v1.>", cb=tap._take)
    try:
        yield tap
    finally:
        await client.close()
