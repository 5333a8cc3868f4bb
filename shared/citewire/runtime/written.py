"""What the entries of an answer's log add up to, for whoever takes the answer over or ends it."""

from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from citewire.contracts.answers import DoneFrame, EntryKind, SourcesFrame
from citewire.runtime.answer_log import split_entry


@dataclass(frozen=True)
class Written:
    """The sources frame, the text so far, and the end: each as far as it was written."""

    sources: SourcesFrame | None = None
    text: str = ""
    done: DoneFrame | None = None


def read_written(entries: Iterable[str]) -> Written:
    """The state that a log's entries add up to."""
    sources, texts, done = None, [], None
    for entry in entries:
        kind, data = split_entry(entry)
        if kind is EntryKind.SOURCES:
            sources = SourcesFrame.model_validate_json(data)
        elif kind is EntryKind.DELTA:
            texts.append(orjson.loads(data)["text"])
        elif kind is EntryKind.END:
            done = DoneFrame.model_validate_json(data)
    return Written(sources, "".join(texts), done)
