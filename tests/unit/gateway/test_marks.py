"""Old answers for a reader of today."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

from builders import knowledge_base, private, source
from citewire.contracts.events import now
from citewire.contracts.evidence import Citation, Leg, Quote, Source, SourceState, Verdict
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.requests import CheckDocuments, DocumentStates, Reply, Request
from citewire.contracts.sessions import Interaction, InteractionStatus, ModelResponse, UserInput
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError
from gateway.marks import Marks, ShownInteraction

READER = User(user_id="reader")


class ScriptedRetriever(Bus):
    """Answers checks with the same states each time; with none it is away."""

    def __init__(self, *states: SourceState) -> None:
        self._states = states
        self.asked: list[CheckDocuments] = []

    async def ask(self, request: Request[Any], timeout: float = 5.0) -> Reply:  # type: ignore[override] # noqa: ASYNC109 - the bus' own
        assert isinstance(request, CheckDocuments)
        self.asked.append(request)
        if not self._states:
            raise TransientError("away")
        return DocumentStates(states=self._states)


def cites(number: int, cited: Source, verdict: Verdict = Verdict.EXACT) -> Citation:
    quote = Quote(answer_start=6, answer_end=9, cited_text=cited.text, start=0, end=5, verdict=verdict)
    return Citation(number=number, kb_id=cited.kb_id, doc_id=cited.doc_id, quotes=(quote,))


def interaction(sources: Sequence[Source], *citations: Citation) -> Interaction:
    return Interaction(
        question_id=uuid4(),
        session_id=uuid4(),
        status=InteractionStatus.FINISHED,
        user_input=UserInput(content="Who buys whom?", at=now()),
        model_response=ModelResponse(content="A buys B. [1]", citations=citations),
        sources=tuple(sources),
        legs=tuple(Leg(kb_id=cited.kb_id, leg="lexical", hits=3) for cited in sources),
    )


async def shown(
    stored: Interaction, bus: ScriptedRetriever, *kbs: KnowledgeBase, user: User = READER
) -> ShownInteraction:
    (marked,) = await Marks(bus, {kb.kb_id: kb for kb in kbs}).show([stored], user)
    return marked


@pytest.mark.parametrize("state", [SourceState.CURRENT, SourceState.CHANGED, SourceState.REMOVED])
async def test_d04_a_source_says_what_has_become_of_its_document_and_keeps_its_text(state: SourceState) -> None:
    found = source(1, "A buys B.")

    marked = await shown(interaction([found], cites(1, found)), ScriptedRetriever(state), knowledge_base())

    assert (marked.sources[0].state, marked.sources[0].text) == (state, "A buys B.")
    assert marked.model_response.content == "A buys B. [1]"
    assert marked.withheld == ()


async def test_e09_a_source_that_may_no_longer_be_read_and_the_answer_that_cites_it_are_withheld() -> None:
    found = source(1, "A buys B.", section="Secret plans", title="Merger", kb_id="kb")
    bus = ScriptedRetriever(SourceState.WITHHELD)

    marked = await shown(interaction([found], cites(1, found)), bus, private("kb"))

    hidden = marked.sources[0]
    assert (hidden.state, hidden.text, hidden.title, hidden.file_name, hidden.section) == ("withheld", "", "", "", "")
    assert (marked.model_response.content, marked.withheld, marked.legs) == ("", ("kb",), ())
    assert not any(word in marked.model_dump_json() for word in ("A buys", "Merger", "Secret", "doc1"))


async def test_e09_an_answer_that_cites_other_sources_only_is_shown() -> None:
    open_one, secret = source(1, "A buys B."), source(2, "C buys D.", kb_id="secret")
    bus = ScriptedRetriever(SourceState.CURRENT, SourceState.WITHHELD)

    marked = await shown(interaction([open_one, secret], cites(1, open_one)), bus, knowledge_base())

    assert marked.model_response.content == "A buys B. [1]"
    assert [found.text for found in marked.sources] == ["A buys B.", ""]


@pytest.mark.parametrize("verdict", [Verdict.MISATTRIBUTED, Verdict.STITCHED])
async def test_e09_a_quote_that_may_come_from_a_withheld_source_is_withheld(verdict: Verdict) -> None:
    open_one, secret = source(1, "A buys B."), source(2, "C buys D.", kb_id="secret")
    bus = ScriptedRetriever(SourceState.CURRENT, SourceState.WITHHELD)

    marked = await shown(interaction([open_one, secret], cites(1, open_one, verdict)), bus, knowledge_base())

    assert marked.model_response.content == ""
    assert marked.model_response.citations[0].quotes[0].cited_text == ""


async def test_an_answer_is_shown_unmarked_while_the_retriever_is_away() -> None:
    found = source(1, "A buys B.")

    marked = await shown(interaction([found], cites(1, found)), ScriptedRetriever(), knowledge_base())

    assert (marked.sources[0].state, marked.model_response.content) == (SourceState.CURRENT, "A buys B. [1]")


async def test_e09_what_was_revoked_stays_hidden_while_the_retriever_is_away() -> None:
    found = source(1, "A buys B.", kb_id="secret")

    marked = await shown(interaction([found], cites(1, found)), ScriptedRetriever(), private("secret", "friend"))

    assert (marked.sources[0].text, marked.model_response.content) == ("", "")


async def test_a_page_of_interactions_takes_one_check_of_its_different_documents() -> None:
    found, bus = source(1, "A buys B."), ScriptedRetriever(SourceState.CHANGED)
    stored = [interaction([found]), interaction([found.model_copy(update={"start": 5})])]

    marked = await Marks(bus, {}).show(stored, READER)

    assert [len(request.documents) for request in bus.asked] == [1]
    assert [each.sources[0].state for each in marked] == [SourceState.CHANGED, SourceState.CHANGED]


async def test_an_interaction_without_sources_needs_no_check() -> None:
    bus = ScriptedRetriever()

    marked = await shown(interaction([]), bus)

    assert bus.asked == []
    assert marked.model_response.content == "A buys B. [1]"
