"""What a search gives when it is asked for a mode, a filter, an explanation, and by whom."""

from collections.abc import AsyncGenerator

import pytest

from citewire.contracts.evidence import Leg
from citewire.contracts.identity import User
from citewire.contracts.requests import SearchReply
from citewire.runtime.errors import Refusal
from retriever_stage import Stage, running_retriever, set_scripted_embedders, until
from scripted_embeddings import Answer, ScriptedEmbeddings

ALICE, BOB = User(user_id="alice"), User(user_id="bob", groups=("staff",))
PARAGRAPHS = [
    f"Ticket rule number {number}: every ticket of class {number} must be shown to the guard. " + "It is a rule. " * 12
    for number in range(1, 7)
]
RULES = ("# Ticket rules\n\n" + "\n\n".join(PARAGRAPHS)).encode()


@pytest.fixture
async def stage(
    monkeypatch: pytest.MonkeyPatch, retriever_settings: None, embeddings: ScriptedEmbeddings
) -> AsyncGenerator[Stage]:
    set_scripted_embedders(monkeypatch, embeddings.url, "scripted")
    async with running_retriever() as stage:
        yield stage


def leg(reply: SearchReply, name: str) -> Leg:
    return next(leg for leg in reply.legs if leg.leg == name)


async def test_r3_neighbouring_relevant_chunks_are_one_segment_of_the_documents_own_text(stage: Stage) -> None:
    await stage.create_kb()
    await stage.add("rules.md", RULES)

    found = await stage.search("ticket rule guard")

    segment = found.segments[0]
    assert segment.last_chunk > segment.first_chunk
    assert segment.text in RULES.decode()
    assert segment.end - segment.start == len(segment.text)
    assert segment.score > 0


async def test_r4_a_mode_decides_what_is_returned(stage: Stage) -> None:
    await stage.create_kb()
    await stage.add("rules.md", RULES)

    chunks = await stage.search("ticket rule guard", mode="chunks")
    parents = await stage.search("ticket rule guard", mode="parent_child")

    assert all(segment.first_chunk == segment.last_chunk and len(segment.text) <= 400 for segment in chunks.segments)
    assert max(len(segment.text) for segment in parents.segments) in range(401, 1201)


async def test_r3_parameters_of_a_question_come_after_those_of_the_knowledge_base(stage: Stage) -> None:
    await stage.create_kb(retrieval={"rse_params": {"overall_max_length": 1}})
    await stage.add("rules.md", RULES)

    own = await stage.search("ticket rule guard")
    asked = await stage.search("ticket rule guard", rse_params={"overall_max_length": 2})

    assert [segment.last_chunk - segment.first_chunk for segment in own.segments] == [0]
    assert sum(segment.last_chunk - segment.first_chunk + 1 for segment in asked.segments) == 2


async def test_r6_a_filter_restricts_both_legs(stage: Stage) -> None:
    await stage.create_kb(embedder="scripted", metadata_schema={"year": "number"})
    for year in (2023, 2024):
        await stage.add(f"{year}.txt", f"The ticket of {year} costs ten francs.".encode(), metadata={"year": year})

    async def with_vectors() -> SearchReply | None:
        condition = {"field": "year", "operator": "greater_than", "value": 2023}
        found = await stage.search("ticket", mode="chunks", filter=condition, explain=True)
        return found if leg(found, "dense").hits else None

    found = await until(with_vectors)

    assert {hit.file_name for hit in found.explained} == {"2024.txt"}
    assert (leg(found, "lexical").hits, leg(found, "dense").hits) == (1, 1)


async def test_r6_an_unknown_field_is_refused_with_its_name(stage: Stage) -> None:
    await stage.create_kb()

    with pytest.raises(Refusal) as refused:
        await stage.search("ticket", filter={"field": "colour", "operator": "equals", "value": "red"})

    assert refused.value.problem.status == 422
    assert "filter.field" in refused.value.problem.model_dump_json()


async def test_an_explanation_has_each_legs_ranks_and_scores(stage: Stage) -> None:
    await stage.create_kb(embedder="scripted")
    await stage.add("a.txt", b"The ticket costs ten francs.")
    await stage.add("b.txt", b"Nothing of the kind.")

    async def with_vectors() -> SearchReply | None:
        found = await stage.search("ticket", explain=True)
        return found if leg(found, "dense").ready == 2 else None

    found = await until(with_vectors)

    by_file = {hit.file_name: hit for hit in found.explained}
    assert (by_file["a.txt"].lexical_rank, by_file["b.txt"].lexical_rank) == (1, None)
    assert {by_file["a.txt"].dense_rank, by_file["b.txt"].dense_rank} == {1, 2}
    assert all(0 <= hit.fused <= 1 and 0 <= hit.similarity <= 1 for hit in found.explained)


async def test_e08_a_private_knowledge_base_does_not_exist_for_others(stage: Stage) -> None:
    await stage.create_kb(access={"everyone": False, "users": ["alice"], "groups": ["staff"]})
    await stage.add("a.txt", b"The ticket costs ten francs.")

    by_user = await stage.search("ticket", user=ALICE)
    by_group = await stage.search("ticket", user=BOB)
    with pytest.raises(Refusal) as refused:
        await stage.search("ticket", user=User(user_id="mallory"))
    from_the_bus = await stage.retrieve("ticket", user=User(user_id="mallory"))

    assert len(by_user.segments) == len(by_group.segments) == 1
    assert refused.value.problem.status == 404
    assert (from_the_bus.segments, from_the_bus.error) == ((), "unknown knowledge base")


async def test_b16_an_error_of_the_embedder_is_not_remembered(stage: Stage, embeddings: ScriptedEmbeddings) -> None:
    await stage.create_kb(embedder="scripted")
    await stage.add("a.txt", b"The ticket costs ten francs.")

    async def ready() -> bool | None:
        return True if leg(await stage.search("ticket"), "dense").hits else None

    await until(ready)
    embeddings.script.extend([Answer(500, {})] * 3)
    failed = await stage.search("ticket")
    healed = await stage.search("ticket")

    assert leg(failed, "dense").error
    assert [segment.text for segment in failed.segments] == ["The ticket costs ten francs."]
    assert (leg(healed, "dense").hits, leg(healed, "dense").error) == (1, None)
