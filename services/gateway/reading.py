"""Where one client is in one answer: entries of the log in, frames out."""

import zlib
from collections.abc import Sequence
from typing import Final

import orjson

from citewire.contracts.answers import EntryKind
from gateway import frames

# Plain strings: there are hundreds of comparisons per answer.
_DELTA: Final = f"{EntryKind.DELTA.value} "
_END: Final = EntryKind.END.value
_STORED: Final = EntryKind.STORED.value


class Sent:
    """The text that a client has, as a length and a checksum: enough to know whether another text begins with it.

    Texts are UTF-8 in JSON's form, as `frames.text_in` has them. Of the hundreds of streams that a process has, each
    delta finds another one's memory: what it touches, it fetches, so there is no more of it than two numbers.
    """

    __slots__ = ("_checksum", "_length")

    def __init__(self) -> None:
        self._length = 0
        self._checksum = 0

    def add(self, text: str) -> None:
        """Note what was sent."""
        data = text.encode()
        self._length += len(data)
        self._checksum = zlib.crc32(data, self._checksum)

    def rest_of(self, text: str) -> str | None:
        """What follows of a whole text; None when it does not begin with what was sent."""
        data = text.encode()
        if len(data) < self._length or zlib.crc32(data[: self._length]) != self._checksum:
            return None
        return data[self._length :].decode()


class Reading:
    """A client's place in an answer. `after` is the last frame that it has from an earlier stream."""

    __slots__ = ("_held", "_is_merged", "after", "end", "is_done", "is_refuted", "number", "sent")

    def __init__(self, after: int, *, is_merged: bool) -> None:
        self.after = after
        # The last entry that was taken. One entry more than asked for is read: a client that has the end already gets
        # it once more.
        self.number = max(0, after - 1)
        # The log's end, as the JSON of a DoneFrame.
        self.end: str | None = None
        self.is_done = False
        # The store has another outcome than the log's end: it is the one that counts.
        self.is_refuted = False
        self.sent = Sent()
        self._is_merged = is_merged
        # Texts held back for a merged stream: no more than the log may hold.
        self._held: list[str] = []

    @property
    def is_fresh(self) -> bool:
        """Whether the client has nothing of the answer."""
        return not (self.after or self.number)

    def anew(self) -> "Reading":
        """The same client at the beginning."""
        return Reading(0, is_merged=self._is_merged)

    def take(self, entries: Sequence[str]) -> str:
        """The frames of the entries that follow the last one."""
        chunks: list[str] = []
        for number, entry in enumerate(entries, self.number + 1):
            if not entry.startswith(_DELTA):
                chunks += self._take_other(entry, number)
            elif number > self.after:
                text = frames.text_in(entry[len(_DELTA) :])
                if self._is_merged:
                    self._held.append(text)
                else:
                    self.sent.add(text)
                    chunks.append(frames.delta_frame(text, number))
            self.number = number
        return "".join(chunks)

    def take_deltas(self, first: int, entries: Sequence[str]) -> str:
        """The frames of entries that are nothing but deltas and follow the last one; else none, and none is taken."""
        if first != self.number + 1 or self.number < self.after or self._is_merged:
            return ""
        for entry in entries:
            if not entry.startswith(_DELTA):
                return ""
        return self.take(entries)

    def _take_other(self, entry: str, number: int) -> list[str]:
        kind, _, data = entry.partition(" ")
        if kind == _END:
            self.end = data
            return self._take_held(number - 1)
        if kind == _STORED:
            return self._take_stored(data, number)
        return [frames.frame(kind, data, number)] if number > self.after else []

    def take_end(self) -> str:
        """The last frame, without waiting for the word that the outcome is stored."""
        self.is_done = True
        return frames.end_frame(self.end or "", self.number, persisted=False)

    def _take_held(self, number: int) -> list[str]:
        text, self._held = "".join(self._held), []
        if not text:
            return []
        self.sent.add(text)
        return [frames.delta_frame(text, number)]

    def _take_stored(self, data: str, number: int) -> list[str]:
        if self.end is None or orjson.loads(data)["status"] != orjson.loads(self.end)["status"]:
            self.is_refuted, self.end = True, None
            return []
        self.is_done = True
        return [frames.end_frame(self.end, number - 1, persisted=True)]
