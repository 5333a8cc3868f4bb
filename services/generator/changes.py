"""Documents that were replaced or removed while answers from them were being written."""

import contextlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from uuid import UUID

from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import ValidationError

from citewire.contracts.events import DocumentIndexed, DocumentRemoved
from citewire.contracts.evidence import Source, SourceState
from generator.citations.collect import Cited

# Changes that are remembered, newest last: many more than happen during one answer.
_MOST = 10_000


class DocumentChanges:
    """Listens to what happens to documents, so that the end of an answer costs no question to their owner.

    A change that is missed, because the connection was lost at that moment, is found by whoever reads the answer.
    """

    def __init__(self) -> None:
        # The version that replaced the earlier ones; None for a document that is gone.
        self._changed: OrderedDict[UUID, int | None] = OrderedDict()

    @contextlib.asynccontextmanager
    async def listening(self, client: Client) -> AsyncGenerator["DocumentChanges"]:
        """Listen while the block lasts."""
        subjects = {DocumentIndexed: self._on_indexed, DocumentRemoved: self._on_removed}
        subscriptions = [
            await client.subscribe(f"{event.subject}.*", cb=callback) for event, callback in subjects.items()
        ]
        try:
            yield self
        finally:
            for subscription in subscriptions:
                await subscription.unsubscribe()

    def mark(self, cited: Cited, sources: Sequence[Source]) -> Cited:
        """The citations, each with what has become of its document since it was found."""
        if not self._changed:
            return cited
        states = {source.number: self._state(source) for source in sources}
        return replace(
            cited,
            citations=tuple(
                citation.model_copy(update={"state": states[citation.number]}) for citation in cited.citations
            ),
        )

    def _state(self, source: Source) -> SourceState:
        if source.doc_id not in self._changed:
            return SourceState.CURRENT
        version = self._changed[source.doc_id]
        if version is None:
            return SourceState.REMOVED
        return SourceState.CHANGED if version > source.version else SourceState.CURRENT

    async def _on_indexed(self, message: Msg) -> None:
        with contextlib.suppress(ValidationError):
            event = DocumentIndexed.model_validate_json(message.data)
            self._note(event.doc_id, event.version)

    async def _on_removed(self, message: Msg) -> None:
        with contextlib.suppress(ValidationError):
            self._note(DocumentRemoved.model_validate_json(message.data).doc_id, None)

    def _note(self, doc_id: UUID, version: int | None) -> None:
        self._changed[doc_id] = version
        self._changed.move_to_end(doc_id)
        if len(self._changed) > _MOST:
            self._changed.popitem(last=False)
