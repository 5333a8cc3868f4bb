"""Answers that a model writes: through the real client, from a scripted server, into the answer's log."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.asyncio import Redis

from answer_stage import QUESTION, SEGMENTS, ScriptedGatherer, answering, dies, lose_log, outcome_of, text_in
from builders import found, planned, segment
from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.evidence import ExclusionReason, QualityLevel, QuoteOrigin, Verdict
from citewire.contracts.provenance import Generator, Maker, Planner
from citewire.contracts.providers import AnswerForm, Protocol
from citewire.contracts.sessions import Interaction, InteractionStatus, Turn
from citewire.runtime.answer_log import AnswerLog
from citewire.runtime.bus import Bus
from citewire.runtime.errors import TransientError
from citewire.runtime.model.client import ModelClient
from generator.answer import Answering
from generator.draft import Draft
from generator.extractive import ExtractiveWriter
from generator.model_writer import ModelWriter
from model_stage import FixedProviders, provider
from scripted_model import ScriptedModel, cut, pieces, silent
from waiting import until

SAYS = "Revenue grew by 12 percent [1]."
WHOLE_QUOTE = "Revenue grew by 12 percent."
QUOTES = '\n<<<QUOTES>>>\n[{"source": 1, "quote": "Revenue grew by 12 percent."}]'


@pytest.fixture
async def model() -> AsyncGenerator[ScriptedModel]:
    async with ScriptedModel() as server:
        yield server


@asynccontextmanager
async def writing(server: ScriptedModel, **fields: Any) -> AsyncGenerator[ModelWriter]:
    """A writer that asks the scripted model."""
    settings = provider(**{"address": server.url, "protocol": Protocol.CHAT, "max_retries": 0} | fields)
    client = ModelClient(settings, server.key)
    yield ModelWriter(FixedProviders(client), ExtractiveWriter(), 16_000)
    await client.aclose()


async def answered(
    bus: Bus, log: AnswerLog, server: ScriptedModel, plan: RetrievalPlanned, **fields: Any
) -> Interaction:
    async with writing(server, **fields) as writer:
        await stage(bus, log, writer).answer(plan)
    return await outcome_of(bus, plan)


def stage(bus: Bus, log: AnswerLog, writer: ModelWriter, *segments: Any) -> Answering:
    gatherer = ScriptedGatherer(found(planned().question_id, "kb", *segments)) if segments else None
    return answering(bus, log, writer, gatherer, continuing=ExtractiveWriter(), evidence_tokens=writer.evidence_tokens)


async def test_a_models_answer_has_its_quotes_proved_and_says_who_wrote_it(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(pieces("Revenue ", "grew by 12 percent [1].", QUOTES, usage=(2000, 30)))

    interaction = await answered(bus, answer_log, model, plan)

    assert interaction.status is InteractionStatus.FINISHED
    assert interaction.model_response.content == await text_in(answer_log, plan) == "Revenue grew by 12 percent [1]."
    (citation,) = interaction.model_response.citations
    assert [(quote.verdict, quote.origin) for quote in citation.quotes] == [(Verdict.EXACT, QuoteOrigin.GIVEN)]
    assert interaction.generator is not None
    assert (interaction.generator.made_by, interaction.generator.provider) == (Maker.MODEL, "main")
    assert interaction.generator.usage is not None
    assert interaction.generator.usage.output_tokens == 30
    assert interaction.degraded is None


async def test_nothing_found_is_said_without_asking_the_model(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")

    async with writing(model) as writer:
        await answering(bus, answer_log, writer, ScriptedGatherer(found(plan.question_id, "kb"))).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert "no evidence" in interaction.model_response.content
    assert interaction.generator == Generator()
    assert not model.requests


@pytest.mark.parametrize("search_needed", [True, False])
async def test_where_nothing_was_to_be_searched_the_model_answers_alone(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel, search_needed: bool
) -> None:
    plan = planned("Thank you!").model_copy(update={"planner": Planner(search_needed=search_needed)})
    model.play(pieces("You are welcome."))

    interaction = await answered(bus, answer_log, model, plan)

    assert interaction.model_response.content == "You are welcome."
    assert interaction.quality is not None
    assert interaction.quality.level is QualityLevel.NONE


async def test_b08_a_stopped_answer_keeps_its_text_and_author(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(silent(after=1, of=("Revenue grew by 12 percent [1]. ",)))
    async with writing(model) as writer:
        worker = stage(bus, answer_log, writer)
        running = asyncio.create_task(worker.answer(plan))
        await until(lambda: model.pieces_sent == 1)
        while not await text_in(answer_log, plan):
            await asyncio.sleep(0.01)

        worker.stop(plan.asker, plan.question_id)
        await running

        async with asyncio.timeout(1):
            await until(lambda: not model.open_connections)
    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.STOPPED
    assert interaction.model_response.content == "Revenue grew by 12 percent [1]."
    assert [citation.number for citation in interaction.model_response.citations] == [1]
    assert interaction.generator is not None
    assert interaction.generator.made_by is Maker.MODEL


async def test_a_broken_off_answer_keeps_the_quotes_that_came(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(cut(after=2, of=("Revenue grew by 12 percent [1].", QUOTES)))

    interaction = await answered(bus, answer_log, model, plan)

    assert interaction.status is InteractionStatus.INCOMPLETE
    (citation,) = interaction.model_response.citations
    assert [quote.origin for quote in citation.quotes] == [QuoteOrigin.GIVEN]


LIMIT = "the model provider main stopped at the limit of output tokens"
WHOLE_CITATION = json.dumps({"source_index": 1, "page_number": None, "cited_text": WHOLE_QUOTE})
CUT_CITATION = '{"source_index": 2, "page_number": null, "cited_text": "Reven'


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (AnswerForm.STRUCTURED, f'{{"response": "{SAYS}", "citations": [{WHOLE_CITATION}, {CUT_CITATION}'),
        (AnswerForm.INLINE, f"{SAYS}{QUOTES[:-1]}, {CUT_CITATION}"),
    ],
)
async def test_an_answer_whose_quotes_are_cut_at_the_token_limit_is_finished(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel, form: AnswerForm, said: str
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(pieces(*said, finish="length"))

    interaction = await answered(bus, answer_log, model, plan, form=form)

    assert interaction.status is InteractionStatus.FINISHED
    assert interaction.model_response.content == await text_in(answer_log, plan) == SAYS
    (citation,) = interaction.model_response.citations
    assert [quote.origin for quote in citation.quotes] == [QuoteOrigin.GIVEN]
    assert interaction.degraded == f"the list of quotes broke off: {LIMIT}"


async def test_a_statement_whose_quote_was_cut_gets_the_passage_that_supports_it(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(pieces(f'{{"response": "{SAYS}", "citations": [{CUT_CITATION}', finish="length"))

    interaction = await answered(bus, answer_log, model, plan, form=AnswerForm.STRUCTURED)

    (citation,) = interaction.model_response.citations
    assert [quote.origin for quote in citation.quotes] == [QuoteOrigin.FOUND]


async def test_a_response_that_is_cut_at_the_token_limit_is_incomplete(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(pieces(f'{{"citations": [{WHOLE_CITATION}], "response": "{SAYS}', finish="length"))

    interaction = await answered(bus, answer_log, model, plan, form=AnswerForm.STRUCTURED)

    assert interaction.status is InteractionStatus.INCOMPLETE
    assert interaction.model_response.content == SAYS
    assert interaction.degraded == LIMIT


async def test_a_json_answer_that_rambles_on_to_the_token_limit_lacks_nothing(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(pieces(f'{{"response": "{SAYS}", "citations": [{WHOLE_CITATION}]}}', "\n", "\n", finish="length"))

    interaction = await answered(bus, answer_log, model, plan, form=AnswerForm.STRUCTURED)

    assert interaction.status is InteractionStatus.FINISHED
    assert interaction.degraded is None


@pytest.mark.parametrize("said", [(), ("",), (" ", "\n"), ("<think>hm</think>", " "), ("<think>hm",)])
async def test_f10_an_empty_answer_is_replaced_by_the_evidence(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel, said: tuple[str, ...]
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(pieces(*said))

    interaction = await answered(bus, answer_log, model, plan)

    assert interaction.status is InteractionStatus.FINISHED
    assert interaction.model_response.content.startswith("- Revenue grew by 12 percent. [1]\n")
    assert interaction.degraded == "answered without a model: the model provider main gave an empty answer"


# Take-over


class DyingModelWriter(ModelWriter):
    """Dies with the text that it has."""

    async def write(self, plan: RetrievalPlanned, sources: Any, draft: Draft) -> AsyncGenerator[str]:
        async for piece in super().write(plan, sources, draft):
            yield piece
            await dies()


async def test_another_worker_does_not_go_on_with_a_models_text(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(pieces("Revenue grew", " much."))
    async with writing(model) as writer:
        with pytest.raises(TransientError):
            await stage(bus, answer_log, DyingModelWriter(writer.providers, ExtractiveWriter(), 16_000)).answer(plan)

        await stage(bus, answer_log, writer).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.INCOMPLETE
    assert interaction.model_response.content == await text_in(answer_log, plan) == "Revenue grew"
    assert interaction.degraded == "the worker that wrote the answer was lost"
    assert interaction.generator is None
    assert len(model.requests) == 1


async def test_another_worker_goes_on_with_an_extract_that_stood_in_for_a_model(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(cut(after=0))
    async with writing(model) as writer:
        with pytest.raises(TransientError):
            await stage(bus, answer_log, DyingModelWriter(writer.providers, ExtractiveWriter(), 16_000)).answer(plan)

        await stage(bus, answer_log, writer).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert interaction.status is InteractionStatus.FINISHED
    assert interaction.model_response.content.startswith("- Revenue grew by 12 percent. [1]\n")
    assert len(model.requests) == 1


async def test_an_answer_whose_log_was_lost_in_the_middle_is_whole(
    bus: Bus, answer_log: AnswerLog, redis: Redis, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    model.play(pieces("Revenue ", "grew ", "[1].", pace=0.2))
    async with writing(model) as writer:
        running = asyncio.create_task(stage(bus, answer_log, writer).answer(plan))
        while not await text_in(answer_log, plan):
            await asyncio.sleep(0.01)
        await lose_log(redis, plan)
        await running

    assert (await outcome_of(bus, plan)).model_response.content == "Revenue grew [1]."
    assert await text_in(answer_log, plan) == "Revenue grew [1]."


# Budgets


async def test_f05_evidence_is_kept_and_the_oldest_turns_give_way(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    turns = tuple(Turn(question=f"question {n}?", answer=f"answer {n} " + "word " * 300) for n in range(10))
    plan = planned(QUESTION, "kb").model_copy(update={"history": turns})
    segments = [
        segment(f"Revenue of part {n} grew by {n} percent. " + "More of it. " * 40, doc=str(n)) for n in range(8)
    ]
    model.play(pieces("Yes [1]."))

    async with writing(model, context_tokens=4096, max_output_tokens=512) as writer:
        await stage(bus, answer_log, writer, *segments).answer(plan)

    interaction = await outcome_of(bus, plan)
    sent = [message["content"] for message in model.requests[0].body["messages"]]
    assert len(interaction.sources) == 8
    assert all(source.text.split(".")[0] in sent[-1] for source in interaction.sources)
    assert 0 < interaction.history_turns < 10
    assert [text for text in sent if text.startswith("question ")] == [
        f"question {n}?" for n in range(10 - interaction.history_turns, 10)
    ]


async def test_f05_sources_that_do_not_fit_are_left_out_whole_and_on_record(
    bus: Bus, answer_log: AnswerLog, model: ScriptedModel
) -> None:
    plan = planned(QUESTION, "kb")
    segments = [segment(f"Revenue {n}. " + "More of it. " * 300, doc=str(n)) for n in range(8)]
    model.play(pieces("Yes [1]."))

    async with writing(model, context_tokens=4096, max_output_tokens=512) as writer:
        await stage(bus, answer_log, writer, *segments).answer(plan)

    interaction = await outcome_of(bus, plan)
    assert 0 < len(interaction.sources) < 8
    assert {exclusion.reason for exclusion in interaction.excluded} == {ExclusionReason.BUDGET}
    assert len(interaction.sources) + len(interaction.excluded) == 8
    prompt = model.requests[0].body["messages"][-1]["content"]
    assert prompt.count("<source number=") == len(interaction.sources)
    assert SEGMENTS[0].text not in prompt
