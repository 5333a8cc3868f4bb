"""Who publishes and who consumes each event: the architecture as a table."""

from dataclasses import dataclass

from citewire.contracts import events, streams
from citewire.contracts.events import DocumentEvent, DocumentOffered, Event


@dataclass(frozen=True)
class Flow:
    """One event's way: the stream that keeps it, the variable part of its subject, both ends."""

    event: type[Event] | type[DocumentEvent] | type[DocumentOffered]
    stream: str
    tokens: tuple[str, ...]
    publishers: tuple[str, ...]
    consumers: tuple[str, ...]

    @property
    def address(self) -> str:
        """The subject with its variable tokens in braces."""
        return ".".join((self.event.subject, *(f"{{{token}}}" for token in self.tokens)))


FLOWS: tuple[Flow, ...] = (
    Flow(
        events.QuestionAsked,
        streams.QUESTIONS,
        ("asker",),
        ("gateway", "other services"),
        ("autoquery", "persister"),
    ),
    Flow(events.QuestionRejected, streams.OUTCOMES, ("asker",), ("autoquery",), ("persister", "that asker")),
    Flow(events.RetrievalPlanned, streams.PLANS, (), ("autoquery",), ("generator",)),
    Flow(events.RetrievalRequested, streams.RETRIEVALS, ("pool", "kb_id"), ("autoquery",), ("retriever",)),
    Flow(
        events.SegmentsFound,
        streams.SEGMENTS,
        ("question_id", "kb_id"),
        ("retriever",),
        ("the generator of that question",),
    ),
    Flow(
        events.InteractionFinished,
        streams.OUTCOMES,
        ("asker",),
        ("generator", "autoquery", "persister"),
        ("persister", "that asker"),
    ),
    Flow(events.DocumentOffered, streams.DOCUMENTS, ("kb_id",), ("other services",), ("retriever",)),
    Flow(events.DocumentSubmitted, streams.DOCUMENTS, ("kb_id",), ("retriever",), ("retriever",)),
    Flow(events.DocumentIndexed, streams.DOCUMENTS, ("kb_id",), ("retriever",), ("retriever", "generator")),
    Flow(events.DocumentFailed, streams.DOCUMENTS, ("kb_id",), ("retriever",), ("other services",)),
    Flow(events.DocumentRemoved, streams.DOCUMENTS, ("kb_id",), ("retriever",), ("retriever", "generator")),
)
