"""Messages that were set aside, for administrators: read from their stream, retried by their consumer, dropped."""

import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from uuid import UUID

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.js.errors import APIError, NotFoundError
from pydantic import ValidationError

from citewire.contracts.dead_letters import DeadLetter, DeadLetterPage, read_letter
from citewire.contracts.identity import User, service_user
from citewire.contracts.model import Message
from citewire.contracts.requests import GetInteraction, Retried, RetryDeadLetter
from citewire.contracts.sessions import InteractionStatus
from citewire.contracts.streams import DEAD_LETTERS
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal, TransientError, conflict, not_found

# Characters of a payload in a list, and bytes of messages that are read for one page.
PREVIEW = 2000
PAGE_BYTES = 8 * 1024**2
# Seconds for the server to send a page, and for a consumer to tell what has become of a retry.
READ_TIMEOUT = 5.0
RETRY_TIMEOUT = 8.0

# How the server ends what it sends: no more for now, or none at all.
_END_STATUSES = frozenset({"204", "404"})
_RUNNING = (InteractionStatus.PENDING, InteractionStatus.STREAMING)


class _AboutQuestion(Message):
    """What a letter's payload may say of the question that it belongs to."""

    question_id: UUID
    asker: str | None = None
    user: User | None = None


class DeadLetters:
    """The stream of dead letters; every call raises TransientError when NATS is away."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def page(self, after: int, limit: int) -> DeadLetterPage:
        """Up to `limit` letters with a greater sequence than `after`, oldest first, their payloads shortened."""
        letters: list[DeadLetter] = []
        try:
            async with self._asked_for(after + 1, limit) as replies:
                while "Status" not in (headers := (message := await replies.next_msg(READ_TIMEOUT)).headers or {}):
                    letters.append(_letter(message, headers))
        except (NatsError, TimeoutError) as error:
            raise TransientError("JetStream is away") from error
        if headers["Status"] not in _END_STATUSES:
            raise TransientError(f"JetStream: {headers.get('Description', headers['Status'])}")
        is_last = not letters or headers.get("Nats-Num-Pending", "0") == "0"
        return DeadLetterPage(letters=tuple(letters), next_cursor=None if is_last else str(letters[-1].sequence))

    @contextlib.asynccontextmanager
    async def _asked_for(self, sequence: int, limit: int) -> AsyncGenerator[Subscription]:
        """Where the stream sends its messages from `sequence` on, and then a status."""
        client = self._bus.client
        inbox = client.new_inbox()
        replies = await client.subscribe(inbox)
        request = {"seq": sequence, "batch": limit, "max_bytes": PAGE_BYTES}
        try:
            await client.publish(f"$JS.API.DIRECT.GET.{DEAD_LETTERS}", json.dumps(request).encode(), inbox)
            yield replies
        finally:
            await replies.unsubscribe()

    async def read(self, sequence: int) -> DeadLetter:
        """One letter, whole; raises Refusal 404."""
        try:
            stored = await self._bus.js.get_msg(DEAD_LETTERS, sequence)
        except NotFoundError as error:
            raise not_found("dead letter") from error
        except (NatsError, TimeoutError) as error:
            raise TransientError("JetStream is away") from error
        return read_letter(
            sequence=sequence,
            subject=str(stored.subject),
            headers=stored.headers or {},
            data=stored.data or b"",
            at=stored.time or datetime.now(UTC),
        )

    async def retry(self, sequence: int) -> Retried:
        """Let its consumer handle a letter's message; raises Refusal: 404, 409 where that can't succeed."""
        letter = await self.read(sequence)
        if await self._has_ended(letter):
            raise conflict("The question of this message has ended, and has one outcome.")
        return await self._bus.ask(RetryDeadLetter(consumer=letter.consumer, sequence=sequence), RETRY_TIMEOUT)

    async def remove(self, sequence: int) -> None:
        """Drop a letter; raises Refusal 404."""
        await self.read(sequence)
        try:
            await self._bus.js.delete_msg(DEAD_LETTERS, sequence)
        except APIError as error:
            # Somebody else has dropped it since.
            raise not_found("dead letter") from error
        except (NatsError, TimeoutError) as error:
            raise TransientError("JetStream is away") from error

    async def _has_ended(self, letter: DeadLetter) -> bool:
        try:
            about = _AboutQuestion.model_validate_json(letter.payload)
        except ValidationError:
            return False
        # A service's questions are its own, whatever user its message names.
        askers = {about.user.user_id} if about.user else set()
        askers |= {service_user(about.asker).user_id} if about.asker else set()
        for user_id in askers:
            try:
                found = await self._bus.ask(GetInteraction(question_id=about.question_id, user_id=user_id))
            except Refusal:
                continue
            return found.interaction.status not in _RUNNING
        return False


def _letter(message: Msg, headers: Mapping[str, str]) -> DeadLetter:
    return read_letter(
        sequence=int(headers["Nats-Sequence"]),
        subject=headers["Nats-Subject"],
        headers=headers,
        data=message.data,
        at=datetime.fromisoformat(headers["Nats-Time-Stamp"]),
        characters=PREVIEW,
    )
