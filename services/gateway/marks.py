"""Old answers as they may be shown today: what has become of their sources, and nothing that was withdrawn."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from citewire.contracts.evidence import Citation, Source, SourceState, Verdict
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.requests import CheckDocuments, DocumentVersion
from citewire.contracts.sessions import Interaction, ModelResponse
from citewire.runtime.bus import Bus
from citewire.runtime.errors import Refusal, TransientError

# A quote with one of these may come from another source than the one that it names.
_FROM_ELSEWHERE: Final = frozenset({Verdict.MISATTRIBUTED, Verdict.STITCHED})
_WITHHELD_TEXTS: Final = {
    "state": SourceState.WITHHELD,
    "title": "",
    "file_name": "",
    "section": "",
    "text": "",
    "pages": (),
}


class ShownInteraction(Interaction):
    """An interaction for one reader: `withheld` names the knowledge bases of sources that they may no longer read.

    Such a source has no text, and an answer that cites one is empty.
    """

    withheld: tuple[str, ...] = ()


@dataclass(frozen=True)
class Marks:
    """Marks the sources of stored interactions."""

    bus: Bus
    kbs: Mapping[str, KnowledgeBase]

    async def show(self, interactions: Sequence[Interaction], user: User) -> tuple[ShownInteraction, ...]:
        """The interactions as this user may see them now; only marked as withheld when the retriever is away."""
        states = await self._states(interactions, user)
        return tuple(_shown(interaction, states) for interaction in interactions)

    async def _states(self, interactions: Sequence[Interaction], user: User) -> dict[DocumentVersion, SourceState]:
        sources = (source for interaction in interactions for source in interaction.sources)
        documents = tuple(dict.fromkeys(_document(source) for source in sources))
        states = await self._ask(documents, user) if documents else {}
        # The register is here, so that what a reader lost the right to stays hidden whoever is away.
        hidden = {kb_id for kb_id, kb in self.kbs.items() if not kb.is_readable_by(user)}
        return states | {document: SourceState.WITHHELD for document in documents if document.kb_id in hidden}

    async def _ask(self, documents: tuple[DocumentVersion, ...], user: User) -> dict[DocumentVersion, SourceState]:
        try:
            reply = await self.bus.ask(CheckDocuments(user=user, documents=documents))
        except (Refusal, TransientError):
            return {}
        return dict(zip(documents, reply.states, strict=True))


def _document(source: Source) -> DocumentVersion:
    return DocumentVersion(kb_id=source.kb_id, doc_id=source.doc_id, version=source.version)


def _shown(interaction: Interaction, states: Mapping[DocumentVersion, SourceState]) -> ShownInteraction:
    sources = tuple(
        _marked(source, states.get(_document(source), SourceState.CURRENT)) for source in interaction.sources
    )
    withheld = {source.number: source.kb_id for source in sources if source.state is SourceState.WITHHELD}
    kb_ids = tuple(sorted(set(withheld.values())))
    fields = dict(interaction) | {"sources": sources, "withheld": kb_ids}
    if withheld:
        fields["model_response"] = _readable_part(interaction.model_response, withheld)
        fields["legs"] = tuple(leg for leg in interaction.legs if leg.kb_id not in kb_ids)
        fields["excluded"] = tuple(left_out for left_out in interaction.excluded if left_out.kb_id not in kb_ids)
    return ShownInteraction(**fields)


def _marked(source: Source, state: SourceState) -> Source:
    return source.model_copy(update=_WITHHELD_TEXTS if state is SourceState.WITHHELD else {"state": state})


def _readable_part(response: ModelResponse, withheld: Container[int]) -> ModelResponse:
    if not any(_tells(citation, withheld) for citation in response.citations):
        return response
    citations = tuple(_without_quotes(citation) for citation in response.citations)
    return response.model_copy(update={"content": "", "citations": citations})


def _tells(citation: Citation, withheld: Container[int]) -> bool:
    """Whether a citation may tell what stands in a withheld source."""
    return citation.number in withheld or any(quote.verdict in _FROM_ELSEWHERE for quote in citation.quotes)


def _without_quotes(citation: Citation) -> Citation:
    quotes = tuple(quote.model_copy(update={"cited_text": ""}) for quote in citation.quotes)
    return citation.model_copy(update={"quotes": quotes})
