"""Messages that were set aside: what is kept of one beside its payload, and how administrators see it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from citewire.contracts.model import Message

# Headers of a letter; its subject names the stream and the consumer that it comes from.
SUBJECT_HEADER: Final = "Citewire-Subject"
REASON_HEADER: Final = "Citewire-Reason"
DELIVERIES_HEADER: Final = "Citewire-Deliveries"
# Bytes that the message had, only where not all of them could be kept.
CUT_FROM_HEADER: Final = "Citewire-Cut-From"


class DeadLetter(Message):
    """A message that was set aside.

    `sequence` is its number; `subject` where it was published; `consumer` who could not handle it, in `deliveries`
    tries, and why; `size` its bytes, of which a message that `is_cut` has lost the last.
    """

    sequence: int
    stream: str
    consumer: str
    subject: str
    reason: str
    deliveries: int
    set_aside_at: datetime
    size: int
    is_cut: bool
    payload: str


class DeadLetterPage(Message):
    """Dead letters, oldest first; `next_cursor` continues, None ends."""

    letters: tuple[DeadLetter, ...]
    next_cursor: str | None = None


def read_letter(  # noqa: PLR0913 - the parts of a stored message
    *, sequence: int, subject: str, headers: Mapping[str, str], data: bytes, at: datetime, characters: int | None = None
) -> DeadLetter:
    """The letter that a message of the dead-letter stream is, with so many characters of its payload (None: all)."""
    stream, consumer = subject.split(".")[-2:]
    cut_from = headers.get(CUT_FROM_HEADER)
    return DeadLetter(
        sequence=sequence,
        stream=stream,
        consumer=consumer,
        subject=headers.get(SUBJECT_HEADER, ""),
        reason=headers.get(REASON_HEADER, ""),
        deliveries=int(headers.get(DELIVERIES_HEADER, "0")),
        set_aside_at=at,
        size=int(cut_from) if cut_from else len(data),
        is_cut=cut_from is not None,
        payload=data.decode("utf-8", "replace")[:characters],
    )
