"""A document is described in as few requests as its sections take."""

import pytest

from citewire.contracts.provenance import Usage
from citewire.runtime.model.failures import Failure, ModelFailed
from context_stage import FakeClient, answer
from retriever.ingest.context import Described, Excerpt
from retriever.summaries import Summaries, summarise


def document(sections: int) -> Described:
    excerpts = tuple(Excerpt(number, f"Part {number}", "words") for number in range(1, sections + 1))
    return Described("Travel", "Rail tickets cost ten francs.", excerpts)


async def ask(client: FakeClient, sections: int, limit: float = 5) -> Summaries:
    return await summarise(client, document(sections), limit)


async def test_a_document_with_few_sections_takes_one_request() -> None:
    client = FakeClient(answer(1, 2))

    found = await ask(client, 2)

    assert len(client.requests) == 1
    assert (found.title, found.summary, found.sections) == (
        "Staff Rules",
        "Governs employees.",
        {1: "Part 1.", 2: "Part 2."},
    )
    assert found.reason is None


async def test_many_sections_take_a_few_requests_whose_cost_is_summed() -> None:
    client = FakeClient(answer(*range(1, 9)), answer(*range(9, 17)), answer(*range(17, 21)))

    found = await ask(client, 20)

    assert len(client.requests) == 3
    assert sorted(found.sections) == list(range(1, 21))
    assert found.usage == Usage(input_tokens=300, output_tokens=30, requests=3)


async def test_a_number_that_was_not_asked_for_is_ignored() -> None:
    found = await ask(FakeClient(answer(1, 7)), 1)

    assert found.sections == {1: "Part 1."}


async def test_what_an_answer_leaves_out_is_said() -> None:
    assert (await ask(FakeClient(answer(1)), 3)).reason == "the model left out 2 of 3 sections"
    assert (await ask(FakeClient(answer(summary="")), 0)).reason == "the model summarised nothing"
    assert (await ask(FakeClient(answer(1, summary="")), 1)).reason == ("the model left out the document's own summary")


async def test_a_failure_in_the_middle_keeps_what_was_found_and_what_it_cost() -> None:
    busy = ModelFailed("main", Failure.RATE_LIMITED, "answered 429", retry_after=7, may_pass=True)

    found = await ask(FakeClient(answer(*range(1, 9)), busy), 12)

    assert (found.summary, len(found.sections)) == ("Governs employees.", 8)
    assert (found.reason, found.may_pass, found.retry_after) == ("the model provider main answered 429", True, 7)
    assert found.usage == Usage(input_tokens=200, output_tokens=20, requests=2)


async def test_an_answer_that_is_no_json_is_a_failure_that_does_not_pass() -> None:
    found = await ask(FakeClient("I would rather not."), 0)

    assert found.is_empty
    assert found.reason == "the model provider main answered with something else than JSON"
    assert not found.may_pass


@pytest.mark.parametrize("answers", [(), (answer(*range(1, 9)),)])
async def test_no_document_takes_longer_than_the_limit(answers: tuple[str, ...]) -> None:
    found = await ask(FakeClient(*answers), 12, limit=0.05)

    assert found.is_empty is not bool(answers)
    assert "took longer than" in str(found.reason)
    assert found.may_pass
