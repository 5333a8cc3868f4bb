"""What a search finds, and what it says of it."""

import pytest

from citewire.contracts.requests import RemoveKnowledgeBase
from citewire.runtime.errors import Refusal
from retriever_stage import ADMIN, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("国际标准化动向", "标准化"),
        ("国際標準化の動向をまとめた。", "標準化"),
        ("Обзор международной стандартизации", "стандартизация"),
        ("국제 표준화 동향", "표준화"),
    ],
)
async def test_e01_part_of_a_clause_is_found_and_scores_above_zero(stage: Stage, text: str, query: str) -> None:
    await stage.add("a.txt", text.encode())
    await stage.add("b.txt", b"Nothing of the kind.")

    (segment,) = (await stage.search(query)).segments

    assert segment.text == text
    assert segment.score > 0


async def test_e01_what_shares_no_term_is_not_returned(stage: Stage) -> None:
    await stage.add("a.txt", "国际标准化动向".encode())

    reply = await stage.search("lighthouse")

    assert reply.segments == ()
    assert reply.legs[0].hits == 0


@pytest.mark.parametrize("query", ["", "   ", "the of and", "\0", '"(title:x AND *)^9 OR [a TO b]', "👩‍🔬"])
async def test_any_text_is_a_query(stage: Stage, query: str) -> None:
    await stage.add("a.txt", b"The ticket costs ten francs.")

    assert await stage.texts(query) == []


async def test_a_huge_query_is_answered(stage: Stage) -> None:
    await stage.add("a.txt", b"The ticket costs ten francs.")

    assert await stage.texts("ticket " * 100_000) == ["The ticket costs ten francs."]


async def test_a_word_of_the_title_finds_a_chunk_that_lacks_it(stage: Stage) -> None:
    village = "A village without cars, at the foot of a mountain that everybody has seen in a picture." * 4
    prices = "The ticket costs ten francs, and half of that for children who come with their parents."
    await stage.add("zermatt.md", f"# Zermatt\n\n{village}\n\n## Prices\n\n{prices}\n".encode())

    found = await stage.search("zermatt", mode="chunks")

    assert any("ten francs" in segment.text and "Zermatt" not in segment.text for segment in found.segments)


async def test_several_queries_share_the_places(stage: Stage) -> None:
    for number in range(4):
        await stage.add(f"t{number}.txt", f"Ticket ticket ticket number {number}.".encode())
    await stage.add("museum.txt", b"The museum is closed on Monday, whatever the season may be.")

    found = await stage.retrieve("ticket number", "museum closed", top_k=2)

    assert {segment.file_name[0] for segment in found.segments} == {"t", "m"}
    assert len(found.segments) == 2
    assert {exclusion.reason for exclusion in found.excluded} == {"limit"}


async def test_each_leg_says_what_it_did(stage: Stage) -> None:
    await stage.add("a.txt", b"The ticket costs ten francs.")

    lexical, dense = (await stage.retrieve("ticket")).legs

    assert (lexical.leg, lexical.hits, lexical.error) == ("lexical", 1, None)
    assert lexical.elapsed_ms > 0
    assert (dense.leg, dense.skipped) == ("dense", "no embedder is set")


async def test_b15_an_unknown_knowledge_base_is_said_to_be_unknown(stage: Stage) -> None:
    found = await stage.retrieve("ticket", kb_id="none")

    assert found.error == "unknown knowledge base"
    assert found.legs[0].error == "unknown knowledge base"
    assert found.segments == ()


async def test_b16_an_error_is_not_remembered(stage: Stage) -> None:
    await stage.retrieve("ticket", kb_id="late")
    await stage.create_kb("late")
    await stage.add("a.txt", b"The ticket costs ten francs.", kb_id="late")

    found = await stage.retrieve("ticket", kb_id="late")

    assert (found.error, len(found.segments)) == (None, 1)


async def test_a_search_of_an_unknown_knowledge_base_is_404(stage: Stage) -> None:
    with pytest.raises(Refusal) as refusal:
        await stage.search("ticket", kb_id="none")

    assert refusal.value.problem.status == 404


async def test_a_removed_knowledge_base_is_unknown(stage: Stage) -> None:
    await stage.add("a.txt", b"The ticket costs ten francs.")
    await stage.bus.ask(RemoveKnowledgeBase(user=ADMIN, kb_id="kb"))

    assert (await stage.retrieve("ticket")).error == "unknown knowledge base"


async def test_e11_only_the_asked_knowledge_base_is_searched(stage: Stage) -> None:
    await stage.create_kb("other")
    await stage.add("a.txt", b"The ticket costs ten francs.")
    await stage.add("a.txt", b"The ticket costs twelve euros.", kb_id="other")

    assert await stage.texts("ticket") == ["The ticket costs ten francs."]
