"""Reads an answer in the structured form: a JSON object whose `response` is shown while it comes."""

from typing import Any

from citewire.runtime.model.requests import JsonShape
from citewire.text.normalise import StreamCleaner
from generator.citations.collect import Claim
from generator.reading.edges import EdgeTrimmer
from generator.reading.json_text import ITEM, InvalidJson, JsonText, Path
from generator.reading.tail import BROKEN_LIST, MAX_CLAIMS, Tail, make_claim

__all__ = ["ANSWER_SHAPE", "InvalidJson", "StructuredReader"]

# More than a quote may have to be proved.
MAX_QUOTE = 10_000

_RESPONSE = ("response",)
_CITATION = ("citations", ITEM)
_FIELDS = frozenset(("source_index", "page_number", "cited_text"))

ANSWER_SHAPE = JsonShape(
    "answer",
    {
        "type": "object",
        "properties": {
            "response": {"type": "string"},
            "citations": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "source_index": {"type": "integer"},
                        "page_number": {"type": ["integer", "null"]},
                        "cited_text": {"type": "string"},
                    },
                    "required": ["source_index", "page_number", "cited_text"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["response", "citations"],
        "additionalProperties": False,
    },
)


class StructuredReader:
    """Takes the model's text in pieces; gives back what of `response` can be shown.

    Text before the first wrong character is given out first, so the result does not depend on how the text is split:
    then `feed` raises InvalidJson with the next piece, or at once where there is no such text.
    """

    def __init__(self) -> None:
        self._answer = _Answer()
        self._json = JsonText(self._answer)
        self._cleaner = StreamCleaner()
        self._edges = EdgeTrimmer()
        self._failure: InvalidJson | None = None

    def feed(self, piece: str) -> str:
        """The text that can be shown now; may be empty."""
        if self._failure is None:
            try:
                self._json.feed(piece)
            except InvalidJson as failure:
                self._failure = failure
        shown = self._edges.feed(self._cleaner.feed(self._answer.take()))
        if self._failure and not shown:
            raise self._failure
        return shown

    @property
    def is_whole(self) -> bool:
        """Whether `response` is complete; JSON that went wrong behind it may have ended it too early."""
        return self._answer.is_told and self._failure is None

    def end(self) -> Tail:
        """What is claimed to be quoted, as far as it came; raises InvalidJson when there is no whole `response`."""
        if self._failure:
            raise self._failure
        if not self._answer.is_told:
            self._json.end()
            raise InvalidJson("the model's JSON has no response")
        return Tail(claims=tuple(self._answer.claims), problem=None if self._json.is_complete else BROKEN_LIST)


class _Answer:
    """Picks the response and the citations out of the object; of two responses the first counts."""

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self.is_told = False
        self._shown: list[str] = []
        self._part: list[str] = []
        self._size = 0
        self._fields: dict[str, Any] = {}

    def take(self) -> str:
        """What has come of the response since the last time."""
        shown, self._shown = self._shown, []
        return "".join(shown)

    def text(self, path: Path, piece: str) -> None:
        if path == _RESPONSE:
            if not self.is_told:
                self._shown.append(piece)
        elif _is_field(path) and self._size < MAX_QUOTE:
            self._part.append(piece)
            self._size += len(piece)

    def value(self, path: Path, value: Any) -> None:
        if _is_field(path):
            self._fields[path[-1]] = value

    def ended(self, path: Path) -> None:
        if path == _RESPONSE:
            self.is_told = True
        elif _is_field(path):
            self._fields[path[-1]] = "".join(self._part)
            self._part, self._size = [], 0

    def closed(self, path: Path) -> None:
        if path != _CITATION:
            return
        fields, self._fields = self._fields, {}
        claim = make_claim(fields.get("source_index"), fields.get("cited_text"), fields.get("page_number"))
        if claim is not None and len(self.claims) < MAX_CLAIMS:
            self.claims.append(claim)


def _is_field(path: Path) -> bool:
    return path[:-1] == _CITATION and path[-1] in _FIELDS
